"""What models say, in examinations: tokens of different lengths; and where a model that reads on is in it."""

import random

Words = tuple[str, ...]


def place_in(text: Words, said: str) -> int:
    """How many of these words stand in what was said, by its end: where most readers would go on."""
    whole = "".join(text)
    if whole.startswith(said):
        reached = len(said)
    else:
        tail = said[-20:]
        found = [at + len(tail) for at in range(len(whole)) if whole.startswith(tail, at)]
        reached = min(found, key=lambda at: abs(at - len(said)), default=min(len(said), len(whole)))
    count = characters = 0
    while count < len(text) and characters < reached:
        characters += len(text[count])
        count += 1
    return count


def rest_of(text: Words, said: str) -> Words:
    """The words after these characters; of a word that was cut, its rest."""
    place = place_in(text, said)
    beyond = len("".join(text[:place])) - len(said)
    half = (text[place - 1][-beyond:],) if place and 0 < beyond < len(text[place - 1]) else ()
    return half + text[place:]


VOCABULARY = "the a of to and in is it that for was on are as with they be at one have this from or had by hot word but"
LONG = "continuation provider certainty recording truncated assumption reasoning undecidable estimate temperature"


def prose(chance: random.Random, count: int) -> Words:
    """Sentences of a small vocabulary, as people write them."""
    found: list[str] = []
    while len(found) < count:
        length = chance.randint(4, 16)
        for at in range(length):
            word = chance.choice((VOCABULARY if chance.random() < 0.7 else LONG).split())
            if len(word) > 6 and chance.random() < 0.5:
                found += [word[:4], word[4:]]
            else:
                found.append(word)
            found[-1] += ". " if at == length - 1 else " "
    return tuple(found[:count])


def listed(chance: random.Random, count: int) -> Words:
    """Items of a list, many of which begin alike."""
    found: list[str] = []
    while len(found) < count:
        found += ["- ", chance.choice(VOCABULARY.split()), ": ", str(chance.randint(0, 9)), "\n"]
    return tuple(found[:count])


def code(chance: random.Random, count: int) -> Words:
    lines = [["    ", "if ", "x", ":\n"], ["        ", "return ", "None", "\n"], ["    ", "y ", "= ", "x", "\n"]]
    found: list[str] = []
    while len(found) < count:
        found += chance.choice(lines)
    return tuple(found[:count])


def array(chance: random.Random, count: int) -> Words:
    return tuple(["0", ", "][at % 2] for at in range(count))


def foreign(chance: random.Random, count: int) -> Words:
    return tuple(chance.choice(["日本", "語", "で", "書", "かれた", "é", "😀", "a "]) for _ in range(count))


TEXTS = (prose, prose, prose, listed, code, array, foreign)
