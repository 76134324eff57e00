"""Evidence for a layout: samples, names, candidates, finders. No layout class is known here."""
