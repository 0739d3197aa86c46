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


LAYERS = ("hook", "guard", "proxy", "network", "jail")
SEGMENT = re.compile(r"\d{12,16}\.jsonl")
LINE = re.compile(rb'\["([0-9a-f]{64})",(\{.*\})\]', re.DOTALL)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def number_text(value):
    """As JSON.stringify writes it; only whole numbers are in records that this program makes sense of."""
    if isinstance(value, int):
        return str(value)
    whole = value == int(value) if abs(value) < 1e21 else False
    return str(int(value)) if whole else repr(value)


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


def body_of(data, chain, seq):
    try:
        text = data.decode("utf-8")
        body = json.loads(text)
    except (UnicodeDecodeError, ValueError) as error:
        raise Bad(f"its body is not JSON: {error}")
    if canonical(body) != text:
        raise Bad("its body is not canonical JSON")
    if body.get("seq") != seq:
        raise Bad(f"expected number {seq}, found {body.get('seq')}")
    if set(body) - {"agent", "count", "facts", "layer", "object", "seq", "session", "status", "ts", "type"}:
        raise Bad("it has members that no record has")
    if body.get("agent") != (chain[6:] if chain.startswith("agent/") else None):
        raise Bad("it is of another agent")
    if body.get("status") not in ("begin", "ok", "failed", "denied") or not isinstance(body.get("type"), str):
        raise Bad("its status or type is wrong")
    if not TIME.fullmatch(str(body.get("ts"))) or not isinstance(body.get("object"), str):
        raise Bad("its time or object is wrong")
    if body["status"] == "denied" and body.get("layer") not in LAYERS:
        raise Bad("a refusal has to name its layer")
    return body


class Chain:
    def __init__(self, record, name):
        self.name, self.directory = name, os.path.join(record, *name.split("/"))
        self.seq, self.head, self.heads, self.denials, self.problem, self.notes = 0, "0" * 64, {}, {}, None, []

    def read(self, name):
        with open(os.path.join(self.directory, name), "rb") as file:
            return file.read()

    def replay(self, visit=lambda body, head: None):
        where = self.name
        try:
            files = sorted(os.listdir(self.directory)) if os.path.isdir(self.directory) else []
            closed, time = True, ""
            for name in filter(SEGMENT.fullmatch, files):
                where = f"{self.name} {name}:1"
                if not closed:
                    raise Bad("the segment before it was not ended")
                if name != f"{self.seq + 1:012d}.jsonl":
                    raise Bad(f"expected segment {self.seq + 1:012d}.jsonl: records are missing")
                lines = self.read(name).split(b"\n")
                if lines.pop() != b"":
                    self.notes.append(f"{where}: the end is torn")
                closed = False
                for index, line in enumerate(lines):
                    where = f"{self.name} {name}:{index + 1} record {self.seq + 1}"
                    found = LINE.fullmatch(line)
                    if closed or not found:
                        raise Bad("this line is not a record, or stands behind the end of its segment")
                    head, data = found[1].decode(), found[2]
                    if blake3(bytes.fromhex(self.head) + data) != head:
                        raise Bad("its digest does not match: it was changed, or a record before it was removed or moved")
                    body = body_of(data, self.name, self.seq + 1)
                    facts = body.get("facts", {})
                    if (body["type"] == "audit.open") != (index == 0):
                        raise Bad("audit.open has to be first in a segment, and nowhere else")
                    if index == 0 and (facts.get("chain") != self.name or facts.get("format") != 1):
                        raise Bad(f"its segment is of chain {facts.get('chain')}")
                    if body["ts"] < time and body["type"] != "audit.clock":
                        raise Bad("its time is before that of the record before it")
                    if body["ts"] < time:
                        self.notes.append(f"{where}: the clock was set back")
                    if body["type"] == "audit.torn" and facts.get("lines", 0) > 0:
                        raise Bad("before it were whole lines that are not records: a crash does not leave that")
                    if body["type"] == "audit.torn":
                        self.notes.append(f"{where}: a torn end was kept aside as {facts.get('file')}")
                    if body["status"] == "denied":
                        self.denials[body["layer"]] = self.denials.get(body["layer"], 0) + body.get("count", 1)
                    closed, time, self.seq, self.head = body["type"] == "audit.close", body["ts"], self.seq + 1, head
                    self.heads[self.seq] = head
                    visit(body, head)
            where = self.name
            if self.seq == 0 or closed:
                raise Bad(f"record {self.seq + 1} is missing")
        except Bad as bad:
            self.problem = f"{where}: {bad}"
        return self

    def compare_counters(self):
        state = {"totals": {}, "watched": []}
        if os.path.exists(os.path.join(self.directory, "denials.json")):
            try:
                state = json.loads(self.read("denials.json"))
                expected = dict(state["totals"])
                for each in state["watched"]:
                    if each["count"]:
                        expected[each["entry"]["layer"]] = expected.get(each["entry"]["layer"], 0) - each["count"]
                for each in state["intents"]:
                    if each["seq"] > self.seq:
                        expected[each["layer"]] = expected.get(each["layer"], 0) - each["count"]
            except (ValueError, KeyError, TypeError, AttributeError):
                raise Bad("denials.json cannot be read")
        else:
            expected = {}
        for layer in LAYERS:
            if expected.get(layer, 0) != self.denials.get(layer, 0):
                raise Bad(f"{layer} counted {expected.get(layer, 0)} refusals, and {self.denials.get(layer, 0)} are recorded")


class Host:
    """Keys, seals, chains and anchored points, as the host chain tells of them."""

    def __init__(self):
        self.keys, self.current, self.root, self.genesis, self.seals, self.heads, self.failed = {}, None, None, {}, [], {}, set()

    def visit(self, body, head):
        facts, seq = body.get("facts", {}), body["seq"]
        self.heads[seq] = head
        if body["type"] == "audit.chain":
            if any(seal["chain"] == facts["chain"] for seal in self.seals):
                raise Bad(f"chain {facts['chain']} began anew after it was sealed")
            self.genesis[facts["chain"]] = facts["head"]
        elif body["type"] == "audit.key":
            self.key(facts.get("action"), facts.get("public", ""), facts.get("by", ""), facts.get("signature", ""))
        elif body["type"] == "audit.seal":
            key = facts.get("key", "")
            if self.keys.get(key) != "in use":
                raise Bad(f"it is sealed with a key that is {self.keys.get(key, 'unknown')}")
            text = f"ctxfs audit head v1\n{facts.get('chain')}\n{facts.get('seq')}\n{facts.get('head')}\n"
            if not is_signed(key, text, facts.get("signature", "")):
                raise Bad("its signature is not valid")
            if facts["chain"] == "host" and self.heads.get(facts["seq"]) != facts["head"]:
                raise Bad("it seals another host chain")
            self.seals.append({**facts, "at": seq, "at_head": head})
        elif body["type"] == "audit.anchor":
            # Of the last seal that has the counter: one that failed is given again, by another seal.
            name = facts.get("anchor")
            given = [seal["at"] for seal in self.seals if name in seal.get("anchors", {}) and seal["anchors"][name] == facts.get("counter")]
            self.failed.update((name, at) for at in given[-1:])

    def key(self, action, public, by, signature):
        expected = public if action == "made" else self.current
        if by != expected or not is_signed(by, f"ctxfs audit key v1\n{action}\n{public}\n", signature):
            raise Bad("a statement about a key is not signed by the required key")
        if action == "revoked" and public in self.keys:
            self.keys[public] = "revoked"
            return
        if action == "revoked" or public in self.keys or (action == "made" and self.root):
            raise Bad("a key came into use twice, or was revoked and never in use")
        if self.current:
            self.keys[self.current] = "rotated"
        self.keys[public], self.current, self.root = "in use", public, self.root or public

    def compare_anchor(self, name, path):
        with open(path, encoding="utf-8") as file:
            points = [json.loads(line) for line in file if line.strip()]
        for point in points:
            if self.heads.get(point["seq"]) != point["head"]:
                raise Bad(f"anchor {name}: its head for record {point['seq']} of the host chain does not match: the record was rewritten or cut off")
        if points and self.root and points[-1]["root"] != self.root:
            raise Bad(f"anchor {name}: it belongs to a record that begins with another key")
        given = [seal for seal in self.seals if name in seal.get("anchors", {}) and (name, seal["at"]) not in self.failed]
        if not points and len(given) > 1:
            raise Bad(f"anchor {name}: it is empty")


def chains_of(record):
    agents = os.path.join(record, "agent")
    names = ["person"] + [f"agent/{name}" for name in (sorted(os.listdir(agents)) if os.path.isdir(agents) else [])]
    return [name for name in names if os.path.isdir(os.path.join(record, *name.split("/")))]


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
        if chain.problem:
            bad.insert(0, chain.problem)
        else:
            try:
                chain.compare_counters()
            except Bad as problem:
                bad.append(f"{name}: {problem}")
        if not chain.problem and not host.problem and history.genesis.get(name) != chain.heads.get(1):
            bad.append(f"{name} record 1: it does not begin as the host chain says")
        problems += bad[:1]
        notes += chain.notes
        counts[name] = (chain.seq, max((seal["seq"] for seal in seals), default=0))
    try:
        if trusted and history.root and history.root != trusted:
            raise Bad("the record begins with a key that is not the trusted one")
        for name, path in anchors if not host.problem else ():
            history.compare_anchor(name, path)
        named = {name for seal in history.seals for name in seal.get("anchors", {}) if (name, seal["at"]) not in history.failed}
        notes += [f"host: seals name anchor {name}, with which nothing was compared" for name in sorted(named - {name for name, _ in anchors})]
    except Bad as bad:
        problems.append(f"host: {bad}")
    return problems, notes, counts


def main(words):
    trusted, anchors, places = None, [], []
    as_json = "--json" in words
    words = [word for word in words if word != "--json"]
    while words:
        word = words.pop(0)
        if word == "--key" and words:
            trusted = words.pop(0)
        elif word == "--anchor" and words and "=" in words[0]:
            anchors.append(tuple(words.pop(0).split("=", 1)))
        elif not word.startswith("-"):
            places.append(word)
        else:
            places = []
            break
    if len(places) != 1:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    problems, notes, counts = verify(places[0], trusted, anchors)
    if as_json:
        print(json.dumps({"ok": not problems, "problems": problems, "notes": notes, "chains": {name: {"records": count[0], "sealed": count[1]} for name, count in counts.items()}}))
    else:
        for problem in problems:
            print(f"BAD {problem}")
        for note in notes:
            print(f"note {note}")
        for name, (records, sealed) in counts.items():
            print(f"{'bad' if any(problem.startswith(name) for problem in problems) else 'ok '} {name}: {records} records, sealed up to {sealed}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
