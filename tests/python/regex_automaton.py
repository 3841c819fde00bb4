"""Static analysis of regular expressions: those that a backtracking engine may need superlinear time for.

A pattern becomes the position automaton of its parse tree. It needs exponential time if a position has two
paths back to itself over one word, and polynomial time if a word leads from a position to itself, from there
to another one, and from that to itself
(Weideman et al., *Analyzing matching time behavior of backtracking regular expression matchers*, CIAA 2016).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import product
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]

#: characters beyond Latin-1: a digit, a letter, a space, a sign
OTHERS = "\u0660\u03b1\u2003\u20ac"
#: repetitions that are written out; more of them count as any number
MOST = 45
#: condition on the text around a place: a boundary, an end, an assertion
CONDITION = 1 << 300


@dataclass
class Automaton:
    """Positions with their characters, and how many ways lead from one to the next."""

    characters: list[int] = field(default_factory=list)
    follow: Counter[tuple[int, int]] = field(default_factory=Counter)


@dataclass
class Part:
    """A part of a pattern: its first and last positions, and the number of ways to match nothing."""

    first: Counter[int]
    last: Counter[int]
    empty: int


class Build:
    def __init__(self, pattern: re.Pattern) -> None:
        self.flags = pattern.flags
        self.letters = (
            [bytes([i]) for i in range(256)]
            if isinstance(pattern.pattern, bytes)
            else [*map(chr, range(256)), *OTHERS]
        )
        self.all = (1 << len(self.letters)) - 1
        self.automaton = Automaton()
        self.groups: dict[int, list] = {}

    def position(self, characters: int) -> Part:
        self.automaton.characters.append(characters)
        at = len(self.automaton.characters) - 1
        return Part(Counter([at]), Counter([at]), 0)

    def sequence(self, parts: list[Part]) -> Part:
        result = Part(Counter(), Counter(), 1)
        for part in parts:
            for (a, m), (b, n) in product(result.last.items(), part.first.items()):
                self.automaton.follow[a, b] += m * n
            first, last = Counter(result.first), Counter(part.last)
            for at, n in part.first.items():
                first[at] += n * result.empty
            for at, n in result.last.items():
                last[at] += n * part.empty
            result = Part(+first, +last, result.empty * part.empty)
        return result

    def choice(self, parts: list[Part]) -> Part:
        return Part(
            sum((part.first for part in parts), Counter()),
            sum((part.last for part in parts), Counter()),
            sum(part.empty for part in parts),
        )

    def repeat(self, least: int, most: int, of: list) -> Part:
        parts = [self.of(of) for _ in range(min(least, MOST))]
        if most > max(least, 1) and (most is sre.MAXREPEAT or most > MOST):
            loop = self.of(of)
            for (a, m), (b, n) in product(loop.last.items(), loop.first.items()):
                self.automaton.follow[a, b] += m * n
            return self.sequence([*parts, Part(loop.first, loop.last, 1)])
        behind = Part(Counter(), Counter(), 1)
        for _ in range(min(most, MOST) - min(least, MOST)):
            whole = self.sequence([self.of(of), behind])
            behind = Part(whole.first, whole.last, 1)
        return self.sequence([*parts, behind])

    def of(self, tree: list) -> Part:
        return self.sequence([self.item(kind, value) for kind, value in tree])

    def item(self, kind: object, value: object) -> Part:
        if kind is sre.AT and value is sre.AT_BEGINNING and self.flags & re.MULTILINE:
            value = sre.AT_BEGINNING_LINE
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
            return self.position(self.characters(kind, value))
        if kind is sre.BRANCH:
            return self.choice([self.of(each) for each in value[1]])
        if kind is sre.SUBPATTERN:
            self.groups[value[0]] = value[3]
            return self.of(value[3])
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            return self.repeat(*value)
        if kind is sre.GROUPREF:
            return self.of(self.groups[value])
        if kind is sre.AT and value is sre.AT_BEGINNING_LINE:
            return self.position(self.member(sre.LITERAL, 10))  # what precedes it
        if kind in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
            return self.position(CONDITION)
        raise NotImplementedError(str(kind))

    def characters(self, kind: object, value: object) -> int:
        if kind is sre.ANY:
            newline = 0 if self.flags & re.DOTALL else 1 << 10
            return self.all & ~newline
        if kind is sre.IN:
            negated = value[0][0] is sre.NEGATE
            found = 0
            for each in value[negated:]:
                found |= self.member(*each)
            return self.all & ~found if negated else found
        found = self.member(sre.LITERAL, value)
        return self.all & ~found if kind is sre.NOT_LITERAL else found

    def member(self, kind: object, value: object) -> int:
        if kind is sre.CATEGORY:
            name = str(value).lower().removeprefix("category_")
            letter = {"digit": "d", "space": "s", "word": "w"}[name.removeprefix("not_")]
            source = f"\\{letter.upper() if name.startswith('not_') else letter}"
            is_bytes = isinstance(self.letters[0], bytes)
            flags = self.flags & (re.ASCII | re.UNICODE)
            inside = re.compile(source.encode() if is_bytes else source, flags)
            return sum(1 << i for i, letter in enumerate(self.letters) if inside.fullmatch(letter))
        low, high = (value, value) if kind is sre.LITERAL else value
        codes = range(low, high + 1)
        found = 0
        for i, letter in enumerate(self.letters):
            variants = {letter, letter.lower(), letter.upper()} if self.flags & re.IGNORECASE else {letter}
            found |= (1 << i) * any(len(v) == 1 and ord(v) in codes for v in variants)
        return found


def automaton(pattern: re.Pattern, use: str) -> tuple[Automaton, set[int]]:
    """Return the automaton, and the positions at which a match is found whatever follows.

    ``use``: the method of the pattern. Any text may precede a match of ``search``.
    """
    build = Build(pattern)
    flags = pattern.flags if isinstance(pattern.pattern, bytes) else pattern.flags & ~re.UNICODE
    tree = list(_parser.parse(pattern.pattern, flags))
    anything = Part(Counter(), Counter(), 1)
    before = (
        anything
        if use in ("match", "fullmatch")
        else build.repeat(0, sre.MAXREPEAT, [(sre.NOT_LITERAL, 1 << 21)])
    )
    behind = build.position(CONDITION) if use == "fullmatch" else anything
    whole = build.sequence([build.of(tree), behind])
    build.sequence([before, whole])
    for kind, value in _walk(tree):
        if kind in (sre.ASSERT, sre.ASSERT_NOT):
            build.of(list(value[1]))
    return build.automaton, {at for at in whole.last if build.automaton.characters[at] != CONDITION}


def _walk(tree: list):
    for kind, value in tree:
        yield kind, value
        if kind is sre.BRANCH:
            for each in value[1]:
                yield from _walk(list(each))
        elif kind is sre.SUBPATTERN:
            yield from _walk(list(value[3]))
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield from _walk(list(value[2]))


def components(nodes: list, next_of) -> dict:
    """Return the strongly connected component of each node, negative for those without a cycle."""
    index, low, stack, on, result, count = {}, {}, [], set(), {}, 0
    for root in nodes:
        if root in index:
            continue
        work = [(root, iter(next_of(root)))]
        index[root] = low[root] = len(index)
        stack.append(root), on.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other), on.add(other)
                    work.append((other, iter(next_of(other))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = []
                    while True:
                        members.append(stack.pop())
                        on.discard(members[-1])
                        if members[-1] == node:
                            break
                    count += 1
                    cyclic = len(members) > 1 or node in set(next_of(node))
                    result.update(dict.fromkeys(members, count if cyclic else -count))
    return result


def growth(pattern: re.Pattern, use: str = "fullmatch") -> str:
    """Return how the time of a failing match may grow: ``exponential``, ``polynomial`` or ``linear``."""
    found, ends = automaton(pattern, use)
    chars, after = found.characters, defaultdict(list)
    for a, b in found.follow:
        after[a].append(b)
    number = components(list(range(len(chars))), lambda a: after[a])
    succeeds = {number[at] for at in ends}  # a loop through an end can't fail any more

    def inside(a: int, b: int) -> bool:
        return number[a] == number[b] > 0 and number[a] not in succeeds

    if any(ways > 1 and inside(a, b) for (a, b), ways in found.follow.items()):
        return "exponential"
    loops = [a for a in range(len(chars)) if number[a] > 0]

    def pairs(node: tuple[int, int]) -> list[tuple[int, int]]:
        a, b = node
        return [
            (c, d) for c in after[a] if inside(a, c) for d in after[b] if inside(b, d) and chars[c] & chars[d]
        ]

    together = components([(a, a) for a in loops], pairs)
    both = {together[a, a] for a in loops if together[a, a] > 0}
    if any(a != b and which in both for (a, b), which in together.items()):
        return "exponential"
    later = [b for b in loops if number[b] not in succeeds]
    apart = ((a, b) for a in loops for b in later if number[a] != number[b])
    return "polynomial" if any(_leads(a, b, chars, after, number) for a, b in apart) else "linear"


def _leads(a: int, b: int, chars: list[int], after: dict, number: dict) -> bool:
    """Whether one word leads from ``a`` to ``a``, from ``a`` to ``b``, and from ``b`` to ``b``."""
    seen, todo = set(), [(a, a, b)]
    while todo:
        x, y, z = todo.pop()
        for nx in after[x]:
            if number[nx] != number[a]:
                continue
            for nz in after[z]:
                both = chars[nx] & chars[nz]
                if number[nz] != number[b] or not both:
                    continue
                for ny in after[y]:
                    if both & chars[ny]:
                        if (nx, ny, nz) == (a, b, b):
                            return True
                        if (nx, ny, nz) not in seen:
                            seen.add((nx, ny, nz))
                            todo.append((nx, ny, nz))
    return False
