"""Structured text there and back: JSON, CSV, XML, INI-like lines."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree


class Encoder(json.JSONEncoder):
    def default(self, value):
        return sorted(value) if isinstance(value, set) else super().default(value)


def orders(count):
    return [
        {
            "id": i,
            "customer": {"name": f"Customer {i}", "city": ["Wien", "Kraków", "São Paulo", "Oslo"][i % 4], "vip": i % 5 == 0},
            "lines": [{"sku": f"A-{j:04}", "quantity": j + 1, "price": round(j * 1.37, 2)} for j in range(i % 4 + 1)],
            "note": None if i % 3 else 'said "now"\n\tand left\\',
            "rate": -1.5e-3 * i,
        }
        for i in range(count)
    ]


def revenue_by_city(items):
    totals = {}
    for order in items:
        value = sum(line["quantity"] * line["price"] for line in order["lines"])
        city = order["customer"]["city"]
        totals[city] = totals.get(city, 0) + value
    return {city: round(total, 2) for city, total in sorted(totals.items())}


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def paths(value, prefix=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, f"{prefix}.{key}" if prefix else key)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from paths(item, f"{prefix}[{i}]")
    else:
        yield prefix, value


for repetition in range(5):
    data = orders(60)
    text = json.dumps(data)
    assert json.loads(text) == data
    assert json.loads(json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False)) == data
    assert revenue_by_city(json.loads(text))
    assert len(dict(paths(without_nulls(data)))) > 300
    for order in data:
        assert json.loads(json.dumps(order, separators=(",", ":")))["id"] == order["id"]
    assert json.dumps({"s": {3, 1}, 5: True, None: 1.0}, cls=Encoder) == '{"s": [1, 3], "5": true, "null": 1.0}'
    assert json.loads("[1, 2.5, true, null]", parse_float=str)[1] == "2.5"
    for broken in ("{", "[1,]", '{"a" 1}', "nul", '"\\x"'):
        try:
            json.loads(broken)
        except json.JSONDecodeError as error:
            assert error.pos >= 0

    out = io.StringIO()
    writer = csv.DictWriter(out, ["id", "name", "city"])
    writer.writeheader()
    for order in data:
        writer.writerow({"id": order["id"], "name": order["customer"]["name"] + ', "x"', "city": order["customer"]["city"]})
    out.seek(0)
    assert [int(row["id"]) for row in csv.DictReader(out)] == list(range(60))

    root = ElementTree.Element("orders")
    for order in data:
        element = ElementTree.SubElement(root, "order", id=str(order["id"]))
        ElementTree.SubElement(element, "city").text = order["customer"]["city"]
    parsed = ElementTree.fromstring(ElementTree.tostring(root, encoding="unicode"))
    assert [element.get("id") for element in parsed.iter("order")][-1] == "59" and parsed.findall("./order/city")

    lines = "\n".join(f"key{i} = value {i}  # note" for i in range(150))
    settings = {}
    for line in lines.splitlines():
        line = line.split("#", 1)[0].strip()
        if line and "=" in line:
            key, _, value = line.partition("=")
            settings[key.strip()] = value.strip()
    assert settings["key7"] == "value 7"
    table = [["name", "n"], *([f"row {i}", i] for i in range(60))]
    widths = [max(len(str(row[i])) for row in table) for i in range(2)]
    assert "\n".join(" | ".join(str(cell).ljust(width) for cell, width in zip(row, widths)) for row in table)
