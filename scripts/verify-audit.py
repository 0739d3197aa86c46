#!/usr/bin/env python3
"""A second verifier of the record, written from docs/audit-format.md and from nothing else of ctxfs.

usage: verify-audit.py RECORD [--key PUBLIC-KEY] [--anchor NAME=FILE]... [--json]

RECORD is the directory of the chains, or an export of it. Needs python3 and nothing more: BLAKE3 and ed25519 are below, in
plain code. Reads only. Exit code 0: everything holds; 1: something does not, and the first problem is named; 2: bad usage.
"""

import hashlib
import json
import os
import re
import sys
from decimal import Decimal

# --- BLAKE3, hash mode, 32 bytes out -------------------------------------------------------------------------------------

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
MOVES = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
MIXED = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
LOW = 0xFFFFFFFF


def compress(value, block, counter, length, flags):
    words = [int.from_bytes(block[at : at + 4], "little") for at in range(0, 64, 4)]
    v = [*value, *IV[:4], counter & LOW, counter >> 32, length, flags]
    for turn in range(7):
        for index, (a, b, c, d) in enumerate(MIXED):
            for word, right, left in ((words[2 * index], 16, 12), (words[2 * index + 1], 8, 7)):
                v[a] = (v[a] + v[b] + word) & LOW
                x = v[d] ^ v[a]
                v[d] = ((x >> right) | (x << (32 - right))) & LOW
                v[c] = (v[c] + v[d]) & LOW
                x = v[b] ^ v[c]
                v[b] = ((x >> left) | (x << (32 - left))) & LOW
        words = [words[place] for place in MOVES]
    return [v[at] ^ v[at + 8] for at in range(8)]


def subtree(data, counter, flags):
    if len(data) > 1024:
        half = 1024
        while half * 2 < len(data):
            half *= 2
        both = subtree(data[:half], counter, 0) + subtree(data[half:], counter + half // 1024, 0)
        return compress(IV, b"".join(word.to_bytes(4, "little") for word in both), 0, 64, PARENT | flags)
    value = IV
    blocks = [data[at : at + 64] for at in range(0, len(data), 64)] or [b""]
    for index, block in enumerate(blocks):
        own = (CHUNK_START if index == 0 else 0) | (CHUNK_END | flags if index == len(blocks) - 1 else 0)
        value = compress(value, block.ljust(64, b"\0"), counter, len(block), own)
    return value


def blake3(data):
    return b"".join(word.to_bytes(4, "little") for word in subtree(data, 0, ROOT)).hex()


# --- ed25519, verification (RFC 8032) ------------------------------------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def point_of(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(public, text, signature):
    if not re.fullmatch("[0-9a-f]{64}", public) or not re.fullmatch("[0-9a-f]{128}", signature):
        return False
    key, first, second = bytes.fromhex(public), bytes.fromhex(signature[:64]), int.from_bytes(bytes.fromhex(signature[64:]), "little")
    a, r = point_of(key), point_of(first)
    if a is None or r is None or second >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(first + key + text.encode()).digest(), "little") % ORDER
    left, right = times(second, BASE), add(r, times(k, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# --- the format ----------------------------------------------------------------------------------------------------------


class Bad(Exception):
    """The first thing that is wrong, and where."""


def bad_if(wrong, problem):
    if wrong:
        raise Bad(problem)


STATUSES, LAYERS = ("begin", "ok", "failed", "denied"), ("hook", "guard", "proxy", "network", "jail")
MEMBERS = {"agent", "count", "facts", "layer", "object", "seq", "session", "status", "ts", "type"}
SEGMENT = re.compile("[0-9]{12,16}[.]jsonl")
TORN = re.compile("torn[.][0-9]{12,16}")
CHAIN = re.compile("host|person|agent/[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}")
LINE = re.compile(rb'\["([0-9a-f]{64})",(\{.*\})\]', re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def number_text(value):
    """As JSON.stringify writes it: the fewest digits that mean it, with an exponent where it is very large or very small."""
    if isinstance(value, int) and abs(value) < 2**53:
        return str(value)
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + exponent
    if not -6 < point <= 21:
        whole = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1:+d}"
    elif point <= 0:
        whole = "0." + "0" * -point + text
    else:
        whole = text.ljust(point, "0")[:point] + ("." + text[point:] if text[point:] else "")
    return "-" * sign + whole


def string_text(value):
    short = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
    out = []
    for character in value:
        code = ord(character)
        escaped = code < 0x20 or 0xD800 <= code <= 0xDFFF
        out.append(short.get(character) or (f"\\u{code:04x}" if escaped else character))
    return '"' + "".join(out) + '"'


def canonical(value):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    # Sorted by UTF-16 code unit.
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(f"{string_text(key)}:{canonical(value[key])}" for key in keys) + "}"


def is_count(value, least=1):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 10**15


def text_of(facts, name):
    return facts[name] if isinstance(facts.get(name), str) else ""


def body_of(data, chain, seq):
    try:
        text = data.decode("utf-8")
        body = json.loads(text)
        is_canonical = canonical(body) == text
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise Bad(f"its body is not JSON: {error}")
    bad_if(not is_canonical, "its body is not canonical JSON")
    bad_if(not is_count(body.get("seq")) or body["seq"] != seq, f"expected number {seq}, found {body.get('seq')}")
    bad_if(not {"agent", "session"} <= set(body) <= MEMBERS, "it has members that no record has, or lacks some")
    bad_if(body["agent"] != (chain[6:] if chain.startswith("agent/") else None), "it is of another agent")
    bad_if(body.get("status") not in STATUSES or not isinstance(body.get("type"), str), "its status or type is wrong")
    bad_if(not TIME.fullmatch(str(body.get("ts"))) or not isinstance(body.get("object"), str), "its time or object is wrong")
    bad_if(not isinstance(body["session"], (str, type(None))) or not isinstance(body.get("facts", {}), dict), "its session or facts are wrong")
    bad_if(not is_count(body.get("count", 1)) or body.get("layer", "hook") not in LAYERS, "its count or layer is wrong")
    bad_if(body["status"] == "denied" and "layer" not in body, "a refusal has to name its layer")
    return body


class Chain:
    def __init__(self, record, name):
        self.name, self.directory = name, os.path.join(record, *name.split("/"))
        self.seq, self.head, self.heads, self.denials, self.problem, self.notes = 0, "0" * 64, {}, {}, None, []
        self.files = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []

    def read(self, name):
        with open(os.path.join(self.directory, name), "rb") as file:
            return file.read()

    def replay(self, visit=lambda body, head: None):
        where = self.name
        try:
            closed, time, torn = True, "", {}
            for name in filter(SEGMENT.fullmatch, self.files):
                where = f"{self.name} {name}:1"
                bad_if(not closed, "the segment before it was not ended")
                bad_if(name != f"{self.seq + 1:012d}.jsonl", f"expected segment {self.seq + 1:012d}.jsonl: records are missing")
                lines = self.read(name).split(b"\n")
                rest = lines.pop()
                closed = False
                for index, line in enumerate(lines):
                    where = f"{self.name} {name}:{index + 1} record {self.seq + 1}"
                    found = LINE.fullmatch(line)
                    bad_if(closed or not found, "this line is not a record, or stands behind the end of its segment")
                    head, data = found[1].decode(), found[2]
                    bad_if(blake3(bytes.fromhex(self.head) + data) != head, "its digest does not match: it was changed, or a record before it was removed or moved")
                    body = body_of(data, self.name, self.seq + 1)
                    facts = body.get("facts", {})
                    bad_if((body["type"] == "audit.open") != (index == 0), "audit.open has to be first in a segment, and nowhere else")
                    bad_if(index == 0 and (facts.get("chain") != self.name or facts.get("format") is True or facts.get("format") != 1), f"its segment is of chain {facts.get('chain')}")
                    bad_if(body["ts"] < time and body["type"] != "audit.clock", "its time is before that of the record before it")
                    self.notes += [f"{where}: the clock was set back"] if body["ts"] < time else []
                    bad_if(body["type"] == "audit.torn" and is_count(facts.get("lines")), "before it were whole lines that are not records: a crash does not leave that")
                    if body["type"] == "audit.torn":
                        self.notes.append(f"{where}: a torn end was kept aside as {facts.get('file')}")
                        torn[text_of(facts, "file")] = facts.get("digest")
                    if body["status"] == "denied":
                        self.denials[body["layer"]] = self.denials.get(body["layer"], 0) + body.get("count", 1)
                    closed, time, self.seq, self.head = body["type"] == "audit.close", body["ts"], self.seq + 1, head
                    self.heads[self.seq] = head
                    visit(body, head)
                bad_if(rest and closed, "something stands behind the end of its segment")
                self.notes += [f"{where}: the end is torn"] if rest else []
            where = self.name
            aside = sorted({*filter(TORN.fullmatch, self.files), *torn})
            differ = [name for name in aside if name not in self.files or blake3(self.read(name)) != torn.get(name)]
            self.notes += [f"{where}: {name} is not what a record says was kept aside" for name in differ]
            self.notes += [f"{where}: its last segment was ended, and no other was begun"] if closed and self.seq else []
            bad_if(self.seq == 0, "record 1 is missing")
        except Bad as bad:
            self.problem = f"{where}: {bad}"
        return self

    def compare_counters(self):
        expected = {}
        if "denials.json" in self.files:
            if len(self.read("denials.json")) == 0:
                raise Bad("denials.json is empty, as a power cut may leave it: the next command that this chain records counts its refusals again")
            try:
                state = json.loads(self.read("denials.json"))
                expected = dict(state["totals"])
                waiting = [(each["entry"].get("layer", "proxy"), each["count"]) for each in state["watched"]]
                owed = [(each["layer"], each["count"]) for each in state["intents"] if each["seq"] > self.seq]
                counts = [*expected.values(), *(count for _, count in waiting + owed), *(each["since"] for each in state["watched"])]
                entries = [(each["key"], each["entry"]["type"], each["entry"]["object"], each["entry"]["status"]) for each in state["watched"]]
                is_whole = all(isinstance(word, str) for entry in entries for word in entry) and all(entry[3] in STATUSES for entry in entries)
                if state["version"] != 1 or not is_whole or not all(is_count(count, 0) for count in counts):
                    raise ValueError
                for layer, count in waiting + owed:
                    expected[layer] = expected.get(layer, 0) - count
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise Bad("denials.json cannot be read")
        for layer in LAYERS:
            bad_if(expected.get(layer, 0) != self.denials.get(layer, 0), f"{layer} counted {expected.get(layer, 0)} refusals, and {self.denials.get(layer, 0)} are recorded")


class Host:
    """Keys, seals, chains and anchored points, as the host chain tells of them."""

    def __init__(self):
        self.keys, self.current, self.root, self.genesis, self.seals, self.heads, self.failed = {}, None, None, {}, [], {}, set()

    def visit(self, body, head):
        facts, seq = body.get("facts", {}), body["seq"]
        self.heads[seq] = head
        chain, name = text_of(facts, "chain"), text_of(facts, "anchor")
        if body["type"] == "audit.chain":
            bad_if(not CHAIN.fullmatch(chain), "it announces a chain with a name that no chain has")
            bad_if(any(seal["chain"] == chain for seal in self.seals), f"chain {chain} began anew after it was sealed")
            self.genesis[chain] = text_of(facts, "head")
        elif body["type"] == "audit.key":
            self.key(*(text_of(facts, member) for member in ("action", "public", "by", "signature")))
        elif body["type"] == "audit.seal":
            key, given = text_of(facts, "key"), facts.get("anchors", {})
            bad_if(self.keys.get(key) != "in use", f"it is sealed with a key that is {self.keys.get(key, 'unknown')}")
            text = f"ctxfs audit head v1\n{facts.get('chain')}\n{facts.get('seq')}\n{facts.get('head')}\n"
            bad_if(not is_signed(key, text, text_of(facts, "signature")), "its signature is not valid")
            bad_if(not is_count(facts.get("seq")) or not isinstance(given, dict), "its number or anchors are wrong")
            bad_if(chain == "host" and self.heads.get(facts["seq"]) != facts.get("head"), "it seals another host chain")
            self.seals.append({"chain": chain, "seq": facts["seq"], "head": facts.get("head"), "anchors": given, "at": seq})
        elif body["type"] == "audit.anchor":
            # Of the last seal that has the counter: one that failed is given again, by another seal.
            given = [seal["at"] for seal in self.seals if name in seal["anchors"] and seal["anchors"][name] == facts.get("counter")]
            self.failed.update((name, at) for at in given[-1:])

    def key(self, action, public, by, signature):
        expected = public if action == "made" else self.current
        bad_if(by != expected or not is_signed(by, f"ctxfs audit key v1\n{action}\n{public}\n", signature), "a statement about a key is not signed by the required key")
        if action == "revoked" and public in self.keys:
            return self.keys.update({public: "revoked"})
        bad_if(action == "revoked" or public in self.keys or (action == "made" and self.root), "a key came into use twice, or was revoked and never in use")
        if self.current:
            self.keys[self.current] = "rotated"
        self.keys[public], self.current, self.root = "in use", public, self.root or public

    def compare_anchor(self, name, path):
        """What is to be said of one that cannot be read."""
        try:
            lines = open(path, "rb").read().decode(errors="replace").split("\n") if os.path.exists(path) else []
            points = [json.loads(line) for line in lines if line]
            if not all(is_count(each["counter"], 0) and is_count(each["seq"], 0) and isinstance(each["head"] + each["root"], str) for each in points):
                raise ValueError("it has lines that are no points")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            return [f"host: anchor {name} cannot be read: {error}"]
        for before, point in zip([{"counter": -1}, *points], points):
            bad_if(point["counter"] <= before["counter"], f"anchor {name}: its points are out of order")
            bad_if(self.heads.get(point["seq"]) != point["head"], f"anchor {name}: its head for record {point['seq']} of the host chain does not match: the record was rewritten or cut off")
        bad_if(points and self.root and points[-1]["root"] != self.root, f"anchor {name}: it belongs to a record that begins with another key")
        bad_if(not points and sum(name in seal["anchors"] and (name, seal["at"]) not in self.failed for seal in self.seals) > 1, f"anchor {name}: it is empty")
        return []


def chains_of(record):
    agents = os.path.join(record, "agent")
    names = ["person", *(f"agent/{name}" for name in (sorted(os.listdir(agents)) if os.path.isdir(agents) else []))]
    # Where there is a lock alone, no chain has begun.
    return [name for name in names if CHAIN.fullmatch(name) and set(Chain(record, name).files) - {"lock"}]


def verify(record, trusted=None, anchors=()):
    """All problems, the first bad record first; notes; and how many records each chain has, how many of them sealed."""
    history = Host()
    host = Chain(record, "host").replay(history.visit)
    problems, notes = [host.problem] if host.problem else [], list(host.notes)
    counts = {"host": (host.seq, max((seal["at"] for seal in history.seals if seal["chain"] == "host"), default=0))}
    for name in sorted(set(chains_of(record)) | set(history.genesis)):
        chain = Chain(record, name).replay()
        seals = [seal for seal in history.seals if seal["chain"] == name]
        bad = [f"{name} record {seal['seq']}: it was sealed with another head, or is not there" for seal in seals if chain.heads.get(seal["seq"]) != seal["head"]]
        # It is announced before its first record is written, and a process may be killed in between.
        is_unbegun = chain.problem == f"{name}: record 1 is missing" and name in history.genesis and not seals
        if chain.problem and not is_unbegun:
            bad.insert(0, chain.problem)
        else:
            try:
                chain.compare_counters()
            except Bad as problem:
                bad.append(f"{name}: {problem}")
        if not chain.problem and not host.problem and history.genesis.get(name) != chain.heads.get(1):
            bad.append(f"{name} record 1: it does not begin as the host chain says")
        problems += bad[:1]
        notes += chain.notes + ([chain.problem] if is_unbegun else [])
        counts[name] = (chain.seq, max((seal["seq"] for seal in seals), default=0))
    try:
        bad_if(trusted and history.root != trusted and (history.root or not host.problem), "the record does not begin with the trusted key")
        for name, path in anchors if not host.problem else ():
            notes += history.compare_anchor(name, path)
        named = {name for seal in history.seals for name in seal["anchors"] if (name, seal["at"]) not in history.failed}
        notes += [f"host: seals name anchor {name}, with which nothing was compared" for name in sorted(named - {name for name, _ in anchors})]
    except Bad as bad:
        problems.append(f"host: {bad}")
    return problems, notes, counts


def main(words):
    trusted, anchors, places = None, [], []
    words, as_json = [word for word in words if word != "--json"], "--json" in words
    while words and (word := words.pop(0)):
        if word == "--key" and words:
            trusted = words.pop(0)
        elif word == "--anchor" and words and "=" in words[0]:
            anchors.append(tuple(words.pop(0).split("=", 1)))
        else:
            places.append(word)
    if len(places) != 1 or places[0].startswith("-"):
        return print(__doc__.split("\n\n")[1], file=sys.stderr) or 2
    problems, notes, counts = verify(places[0], trusted, anchors)
    if as_json:
        print(json.dumps({"ok": not problems, "problems": problems, "notes": notes, "chains": {name: {"records": count[0], "sealed": count[1]} for name, count in counts.items()}}))
    else:
        sys.stdout.writelines([f"BAD {problem}\n" for problem in problems] + [f"note {note}\n" for note in notes])
        for name, (records, sealed) in counts.items():
            print(f"{'bad' if any(problem.startswith(name) for problem in problems) else 'ok '} {name}: {records} records, sealed up to {sealed}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
