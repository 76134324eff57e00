"""HTML pages to print or send: they need no other files, and follow the reader's light or dark setting.

A page holds no foreign markup: all text from a database is escaped.
"""

from __future__ import annotations

import datetime as dt
import html as markup

from model.foundation.hidden_characters import visible

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1d22; --soft: #62656f; --paper: #ffffff; --card: #f5f5f7; --line: #dfe0e5;
  --good: #14713d; --warn: #8f5a00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --soft: #9b9ea9; --paper: #17181c; --card: #202127;
  --line: #34363e; --good: #5fcf8e; --warn: #e3ad4f; --bad: #ff8a80; } }
body { margin: 0 auto; max-width: 72rem; padding: 2.5rem 1.5rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; }
p { margin: .25rem 0; max-width: 60rem; } .soft { color: var(--soft); }
ul.sums { list-style: none; display: flex; flex-wrap: wrap; gap: .6rem; padding: 0; margin: 1.2rem 0; }
ul.sums li { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .5rem .9rem; }
ul.sums b { font-size: 1.25rem; margin-right: .35rem; }
table { border-collapse: collapse; width: 100%; margin-top: .6rem; } td, th { text-align: left; vertical-align: top;
  padding: .4rem .7rem .4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 500; white-space: nowrap; } td.no { color: var(--soft); width: 3rem; }
pre { font: 13px/1.5 ui-monospace, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere;
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem; margin: .5rem 0; }
section { break-inside: avoid; }
td.how { width: 9rem; white-space: nowrap; } code { font: 13px/1.5 ui-monospace, Consolas, monospace; }
.applied, .would { color: var(--good); } .skipped, .young, .asks, .nothing { color: var(--soft); }
.conflict, .changed, .advice { color: var(--warn); } .refused, .unknown { color: var(--bad); }
"""


def page(title: str, body: str) -> str:
    """A whole page around a body of markup."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{escaped(title)}</h1>{body}</body></html>\n"
    )


def escaped(said: str) -> str:
    """Text as HTML without markup and without invisible characters."""
    return markup.escape(visible(said))


def moment(at: dt.datetime) -> str:
    """A time in UTC."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
