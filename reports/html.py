#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one self-contained HTML page from the cases.jsonl of a run.

    reports/html.py out/cases.jsonl [--guards out/guards.json] [-o out/report.html]

It only shows what the run decided: the matrix scenario x kernel x mode, and for each case its finding,
the histogram of its labels and the line that replays it. Every text is escaped; nothing is loaded from
anywhere else, so the page can be kept as an artifact of a build.
"""
import argparse
import json
import sys
from collections import OrderedDict, defaultdict

import jinja2

TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>lossgate: {{ counts.total }} cases</title>
<style>
:root { color-scheme: light dark; --line: #8884; --ok: #2a7d2a; --bad: #c0261f; --unsure: #a86a00; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line);
text-align: left; vertical-align: top; } td.cell { text-align: center; font-variant-numeric: tabular-nums; }
th.scenario { padding-top: 1rem; } .scroll { overflow-x: auto; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { white-space: pre-wrap; margin: .3rem 0; }
.ok { color: var(--ok); } .bad { color: var(--bad); font-weight: 600; } .unsure { color: var(--unsure); }
.dim { opacity: .65; } details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
summary { cursor: pointer; } dl { display: grid; grid-template-columns: 8rem 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dt { opacity: .65; } dd { margin: 0; overflow-wrap: anywhere; }
svg text { font: 10px ui-monospace, monospace; fill: currentColor; }
</style>
</head>
<body>
<h1>lossgate: {{ counts.total }} cases</h1>
<p><span class="ok">{{ counts.expected }} as expected</span>,
<span class="{{ 'bad' if counts.unexpected else 'dim' }}">{{ counts.unexpected }} not</span>,
<span class="{{ 'unsure' if counts.untested else 'dim' }}">{{ counts.untested }} untested</span>,
<span class="dim">{{ counts.skipped }} skipped</span>{% if devices %}, on {{ devices|join(', ') }}{% endif %}.
{% for verdict, n in verdicts.items() %}{{ verdict }} {{ n }}{{ '' if loop.last else ', ' }}{% endfor %}</p>

<h2>Matrix</h2>
{% for block in blocks %}
<div class="scroll"><table>
<tr><th>scenario, kernel</th>{% for mode in block.modes %}<th>{{ mode }}</th>{% endfor %}</tr>
{% for scenario, kernels in block.rows.items() %}
<tr><th class="scenario" colspan="{{ block.modes|length + 1 }}">{{ scenario }}</th></tr>
{% for kernel, cells in kernels.items() %}<tr><td><code>{{ kernel }}</code></td>
{% for mode in block.modes %}{% set cell = cells.get(mode) %}<td class="cell">{% if cell %}<a
class="{{ cell.class }}" href="#{{ cell.anchor }}" title="{{ cell.title }}">{{ cell.text }}</a>{% endif %}</td>
{% endfor %}</tr>
{% endfor %}{% endfor %}
</table></div>
{% endfor %}

{% if guards %}
<h2>Checks in front of the loss</h2>
<p>{{ guards.n_faulty }} batches with a fault, {{ guards.n_clean }} without, each handed to every check.
Detected, silent and left are shares of the {{ guards.n_label }} batches with a fault in their labels; silent:
the check let it through and the loss is a plausible wrong number; left: labels that the loss cannot take go on
to the kernel. Alarms, changed and broken are shares of the clean batches.</p>
<div class="scroll"><table>
<tr><th>check</th>{% for name in guards.columns %}<th>{{ name }}</th>{% endfor %}</tr>
{% for row in guards.rows %}<tr><td><code>{{ row.name }}</code><br><span class="dim">{{ row.help }}</span></td>
{% for cell in row.cells %}<td class="cell {{ cell.class }}">{{ cell.text }}</td>{% endfor %}</tr>
{% endfor %}</table></div>
{% endif %}
<h2>Cases</h2>
<svg width="0" height="0" aria-hidden="true"><defs>
{% for bars in histograms %}<g id="{{ bars.id }}">{% for bar in bars.bins %}<rect x="{{ bar.x }}" y="{{ bar.y
}}" width="{{ bar.w }}" height="{{ bar.h }}" fill="{{ 'var(--bad)' if bar.outside else 'currentColor'
}}"><title>{{ bar.title }}</title></rect>{% if bar.label %}<text x="{{ bar.x }}" y="80">{{ bar.label
}}</text>{% endif %}{% endfor %}</g>
{% endfor %}</defs></svg>
{% for case in cases %}
<details id="c-{{ case.id }}"{{ ' open' if case.open }}>
<summary><span class="{{ case.class }}">{{ case.verdict }}</span> {{ case.scenario }}
<code>{{ case.kernel }}</code> {{ case.mode }} <span class="dim">{{ case.point }}</span></summary>
<dl>
{% for name, value in case.fields %}<dt>{{ name }}</dt><dd>{{ value }}</dd>
{% endfor %}<dt>replay</dt><dd><code>{{ case.repro }}</code></dd>
</dl>
{% if case.bars %}<svg role="img" aria-label="label histogram" width="{{ case.bars.width }}" height="86"><use
href="#{{ case.bars.id }}"/></svg>{% endif %}
</details>
{% endfor %}
</body>
</html>
"""


class InputError(Exception):
    """The file is not the cases.jsonl of a run; the text says where."""


def read_cases(path):
    """The lines as dictionaries. A last line that a killed run left cut is left out, and said."""
    cases, notes = [], []
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                notes.append(f"{path}:{number}: the last line is cut, left out")
                continue
            raise InputError(f"{path}:{number}: not JSON: {error}") from error
        missing = [key for key in ("id", "scenario", "kernel", "mode", "verdict", "as_expected")
                   if not isinstance(case, dict) or key not in case]
        if missing:
            raise InputError(f"{path}:{number}: no key {', '.join(missing)}")
        cases.append(case)
    return cases, notes


def share(part, whole, bad=False):
    text = f"{100 * part / whole:.1f} %" if whole else "-"
    return {"text": text, "class": "bad" if bad and part else ""}


def make_guards(data):
    """The table of guards.json."""
    rows = []
    for guard in data["guards"]:
        labels, clean = guard["label_faults"], guard["clean"]
        times = guard["times_reading"]
        rows.append({"name": guard["name"], "help": guard["help"], "cells": [
            share(labels["detected"], labels["n"]), share(labels["rows_exact"], labels["n"]),
            share(labels["cause_right"], labels["n"]), share(labels["cause_wrong"], labels["n"], True),
            share(labels["right"], labels["n"]), share(labels["silent"], labels["n"], True),
            share(labels["left"], labels["n"]), share(clean["false_alarms"], clean["n"], True),
            share(clean["silent"], clean["n"], True), share(clean["broken"], clean["n"], True),
            {"text": "-" if times is None else f"{times:.1f} x", "class": ""}]})
    return {"n_faulty": data["n_faulty"], "n_clean": data["n_clean"], "rows": rows,
            "n_label": data["guards"][0]["label_faults"]["n"],
            "columns": ["detected", "exact rows", "right cause", "wrong cause", "right loss", "silent", "left",
                        "alarms", "changed", "broken", "reading"]}


def read_guards(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return make_guards(json.loads(text))
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise InputError(f"{path}: not the guards.json of lossgate guards") from error


def css_class(case):
    if case["verdict"] == "untested":
        return "unsure"
    if not case["as_expected"]:
        return "bad"
    return "dim" if case["verdict"] == "skipped" else "ok"


def make_cell(cases):
    """One mark for all matrix points of a scenario x kernel x mode."""
    bad = [c for c in cases if not c["as_expected"]]
    shown = bad[0] if bad else cases[0]
    verdicts = sorted({c["verdict"] for c in cases})
    text = f"{len(cases) - len(bad)}/{len(cases)}" if bad else str(len(cases))
    return {"class": css_class(shown), "anchor": "c-" + str(shown["id"]), "text": text,
            "title": ", ".join(verdicts)}


def make_block(cases):
    modes = list(OrderedDict.fromkeys(c["mode"] for c in cases))
    groups = OrderedDict()
    for case in cases:
        row = groups.setdefault(case["scenario"], OrderedDict()).setdefault(case["kernel"], {})
        row.setdefault(case["mode"], []).append(case)
    rows = OrderedDict(
        (scenario, OrderedDict((kernel, {mode: make_cell(some) for mode, some in row.items()})
                               for kernel, row in kernels.items()))
        for scenario, kernels in groups.items())
    return {"modes": modes, "rows": rows}


def bin_name(item):
    low, high = item["low"], item["high"]
    return str(low) if low == high else f"{low}..{high}"


def make_bars(case, histograms):
    """The histogram of a case's labels. Cases of one batch share theirs: it is drawn once in the page."""
    bins = case.get("labels") or []
    if not bins:
        return None
    key = (json.dumps(bins), case.get("head_width", 0))
    if key in histograms:
        return histograms[key]
    top = max(item["count"] for item in bins) or 1
    step = max(8, min(36, 900 // len(bins)))
    every = max(1, -(-40 // step))  # a label needs about 40 pixels
    bars = []
    for i, item in enumerate(bins):
        height = max(1, round(64 * item["count"] / top))
        name = bin_name(item)
        outside = item["low"] < 0 or item["high"] >= case.get("head_width", 0)
        short = name if len(name) <= 12 else name[:11] + "…"
        bars.append({"x": i * step, "y": 66 - height, "w": step - 2, "h": height, "outside": outside,
                     "title": f"label {name}: {item['count']}", "label": short if i % every == 0 else ""})
    histograms[key] = {"id": f"h-{len(histograms)}", "width": len(bins) * step + 60, "bins": bars}
    return histograms[key]


def rows_text(case):
    rows, n = case.get("rows") or [], case.get("n_rows", 0)
    if not n:
        return None
    text = f"{n} of {case.get('batch_rows', '?')}: " + " ".join(str(row) for row in rows[:24])
    return text + (" …" if n > 24 else "")


def place_text(place):
    if not place:
        return None
    what = place.get("expression") or place.get("kind") or ""
    where = f"{place['file']}:{place['line']}, " if place.get("file") else ""
    return f"{what}, {where}block {place.get('block')} thread {place.get('thread')}"


def source_text(place):
    return f"{place['file']}:{place['line']}, {place['what']}" if place else None


def numbers_text(values):
    values = values or []
    return ", ".join(str(v) for v in values[:8]) + (" …" if len(values) > 8 else "")


def cause_text(cause):
    """A named cause with those stated with it and its share."""
    text = str(cause.get("cause"))
    if cause.get("with"):
        text += " with " + " and ".join(cause["with"])
    if isinstance(cause.get("confidence"), (int, float)):
        text += f" ({100 * cause['confidence']:.0f} %)"
    return text


def make_fields(case):
    """The rows of a case's finding; empty ones are left out."""
    causes = "; ".join(cause_text(c) for c in case.get("causes") or [] if c.get("named"))
    values = ", ".join(f"{v['value']} ({v['count']} times)" for v in case.get("values") or [])
    advice = next((c["advice"] for c in case.get("causes") or [] if c.get("advice")), None)
    surfaced = case.get("surfaced_at")
    if surfaced and case.get("calls_later"):
        surfaced += f", {case['calls_later']} calls later"
    fields = [
        ("injected", case.get("fault")), ("expected", case.get("expectation")),
        ("reason", case.get("reason")), ("finding", case.get("headline")), ("causes", causes),
        ("attribution", case.get("attribution")), ("rows", rows_text(case)), ("values", values),
        ("detected by", case.get("detected_by")), ("assert", place_text(case.get("assert"))),
        ("memory", place_text(case.get("memory"))), ("source", source_text(case.get("place"))), ("failed launch", case.get("failed_launch")),
        ("surfaced at", surfaced), ("loss", numbers_text(case.get("loss"))),
        ("reference", numbers_text(case.get("reference_loss"))),
        ("error / bound", case.get("max_error_share")), ("try", advice),
        ("origin", case.get("origin")), ("seed", case.get("seed")),
    ]
    return [(name, value) for name, value in fields if value not in (None, "", "nan")]


def make_page(cases, guards=None):
    verdicts = defaultdict(int)
    for case in cases:
        verdicts[case["verdict"]] += 1
    skipped, untested = verdicts.get("skipped", 0), verdicts.get("untested", 0)
    unexpected = sum(not c["as_expected"] and c["verdict"] != "untested" for c in cases)
    counts = {"total": len(cases), "untested": untested, "skipped": skipped, "unexpected": unexpected,
              "expected": len(cases) - unexpected - untested - skipped}
    families = OrderedDict()
    for case in cases:
        families.setdefault(str(case["kernel"]).split("/")[0], []).append(case)
    histograms = {}
    shown = [{"id": c["id"], "verdict": c["verdict"], "scenario": c["scenario"], "kernel": c["kernel"],
              "mode": c["mode"], "point": c.get("point") or "", "class": css_class(c),
              "open": not c["as_expected"] and len(cases) < 50, "fields": make_fields(c),
              "bars": make_bars(c, histograms), "repro": c.get("repro") or ""}
             for c in sorted(cases, key=lambda c: (c["as_expected"], ))]
    environment = jinja2.Environment(autoescape=True, trim_blocks=False,
                                     undefined=jinja2.StrictUndefined)
    return environment.from_string(TEMPLATE).render(
        guards=guards, counts=counts, histograms=histograms.values(), verdicts=dict(sorted(verdicts.items())), cases=shown,
        blocks=[make_block(some) for some in families.values()],
        devices=sorted({str(c["device"]) for c in cases if c.get("device")}))


def main(arguments):
    parser = argparse.ArgumentParser(description="HTML page of a run, from its cases.jsonl")
    parser.add_argument("cases", help="the cases.jsonl of a run")
    parser.add_argument("-o", "--output", default="out/report.html",
                        help="the page to write (default: %(default)s)")
    parser.add_argument("--guards", help="the guards.json of lossgate guards, for a section of its own")
    options = parser.parse_args(arguments)
    try:
        cases, notes = read_cases(options.cases)
        page = make_page(cases, read_guards(options.guards) if options.guards else None)
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(page)
    except (OSError, InputError) as error:
        print(f"html.py: error: {error}", file=sys.stderr)
        return 2
    for note in notes:
        print(f"html.py: {note}", file=sys.stderr)
    print(f"{options.output}: {len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
