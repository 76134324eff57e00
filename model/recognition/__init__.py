"""Evidence for a layout: samples, names, candidates, finders. This room knows no layout class."""
