"""Finds words of a line that are denied though no text denies them, or the other way round."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from jenny.text_normalisation import fold_accents
from memory.fact_units import LABELS, Text
from memory.fact_words import LIGHT_WEIGHT, Words, WordSet, clauses_of, words_of

_ALLERGY = re.compile("allerg|intoleran|unvertrag|アレルギー|不耐")
# Who is so, or does so, has or does something not.
_LACK = re.compile(
    r"\b(?:deaf|blind|mute|unable|lack\w*|vegan|vegetarian|teetotal\w*|sober|free|absent|closed|miss\w*"
    r"|empty|remote\w*|alone|single|unemployed|only|taub|gehörlos|blind|stumm|unfähig|veget\w+|fehl\w+"
    r"|frei|geschlossen|leer|allein\w*|arbeitslos|nur|erst)\b|\b\w+(?:less|free|los|frei)\b"
    r"|聞こえ|見え|菜食|ベジ|ビーガン|ヴィーガン|だけ|のみ|欠|休|失",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"^\W*before\b|\bbefore(?=\W*$)"
    r"|\b(?:formerly|previously|used to|was|were|ago|former|früher|vorher|zuvor|davor|ehemals"
    r"|war|waren|originally|planned|ursprünglich|geplant|antes|avant"
    r"|(?:until|bis)(?: \w+)? \d{4})\b|以前|前は|元|当初|から(?:変更|移)",
    re.IGNORECASE,
)
# What stands before something else is looked for once a line or sentence, which keeps the work
# linear: behind its first place all of them find the same.
_NO_LONGER = re.compile(
    r"\bno longer\b|\b(?:instead without|statt ohne)\b|\bnicht mehr\b"
    r"|^(?>.*?(?:\b(?:no|not)|n't)\b).*\bany ?more\b"
    r"|^(?>.*?\bkeine?[nmrs]?\b).*\bmehr\b|もう|やめ|辞め"
    r"|ではなく|じゃなく|\bya no\b|^(?>.*?\bne\b).*\bplus\b",
    re.IGNORECASE | re.MULTILINE,
)
_CHANGE = re.compile(
    r"(?<![^.;])(?:(?>[^.;]*?\bfrom\b)[^.;]*\bto\b|(?>[^.;]*?\bvon\b)[^.;]*\b(?:nach|zu|auf)\b)"
    r"|\b(?:moved|no longer|any ?more|quit|stopped|gave up|left|was|were|instead|until"
    r"|changed|switch\w*|replac\w*|inherit\w*|took over|traded|gave up|retired|finished|completed"
    r"|former\w*|previously|sold|ended|dropped|broke up|gave|nicht mehr"
    r"|aufgegeben|verkauft|ersetzt\w*|geerbt|erbte|übernommen|getauscht|abgeschlossen|gewechselt"
    r"|gekündigt|getrennt|gezogen|zog|statt|vorher|früher|aufgehört|bis|war|gewechselt|beendet"
    r"|dejó|mudó|arrêté|quitté)\b|引っ越|以前|やめ|売|辞め|ではな|じゃな|変わ|になった|乗り換|移行|切り替|から|[替換代][えわ]|変更|転[職校居勤]|卒業|退職",
    re.IGNORECASE,
)
# What does somebody harm may be written as what is to be avoided.
_HARMS = re.compile(
    r"\b(?:worse\w*|trigger\w*|distract\w*|tir(?:es|ing)|hurts?|difficult|hard"
    r"|gives? \w+ (?:\w+ )?\w*(?:ache|aine|pain)s?|verschlimmer\w*|schlimmer"
    r"|lenk\w+ .{0,12}ab|ermüd\w*|stör\w*|macht .{0,12}müde"
    r"|schwer|sonst nicht)\b|悪化|疲れ|痛くな",
    re.IGNORECASE,
)
# What ends, or goes on without: neither a denial nor the contrary of one.
_ENDS = re.compile(
    r"\b(?:unwanted|unwelcome|unerwünscht|verboten|forbidden|stop|paus|ceas|quit|cancel"
    r"|suspend|drop|giv\w+ up|gave up|g[eo]ts? rid|rid of|aufhör|aufgeh|abgesetzt|absetz"
    r"|kündig|gekündigt)|\w-free\b|→|->|やめ|辞め|休止|中止|停止|控え",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"\b(?:still|keeps?|continu\w+|weiterhin|nach wie vor|immer noch|sigue|toujours)\b"
    r"|まだ|引き続き|続け",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:außer|ausser|except|ausgenommen|sauf|salvo)\b|以外|除[いくき]", re.IGNORECASE
)
# "The trip goes not to Rome, but to Bari": the trip is not denied.
_CONTRASTED = re.compile(r"\b(?:nicht|not|no)\b", re.IGNORECASE)
_CONTRARY = re.compile(r"\b(?:sondern|but|sino)\b", re.IGNORECASE)
# In other languages verbs cannot be told.
_WITH_VERBS = frozenset({"en", "de", "cjk"})


def find_turned(line: Text, tiers: Sequence[Sequence[Text]], language: str) -> tuple[str, ...]:
    """Return the words of a line that have lost a negation or found one. Of the *tiers* of texts
    the first one that has a word says how it stands."""
    found: list[str] = []
    texts = [text for tier in tiers for text in tier]
    has_changed = any(_CHANGE.search(text.source) for text in texts)
    loose = {unit.key for unit in line.units if unit.is_loose and language in _WITH_VERBS}
    clauses = clauses_of(line.source)
    is_denied = any(
        text.words.negated
        or any(form.search(text.source) for form in (_LACK, _ENDS, _ALLERGY, _HARMS))
        for text in texts
    )
    for at, (clause, words) in enumerate(clauses):
        if line.is_label(at):
            continue
        # "Before, Brno": the marker may be a clause of its own.
        is_past = bool(_PAST.search(f"{clauses[at - 1][0] if at else ''} {clause}"))
        is_over = has_changed and (is_past or bool(_NO_LONGER.search(clause)))
        rows = _weighty(words)
        is_ending = bool(_ENDS.search(clause))
        is_allergy = any(_ALLERGY.search(word) for word in rows)
        changes = [(word, _state(words, word), _states(tiers, word)) for word in rows]
        # "No longer at Aqua, works at Ferrum": what is done there is not denied.
        is_held = any(
            state in states and state != "unsure" and word not in loose
            for word, state, states in changes
        )
        denied = [one for one, *how in changes if how[0] == "negated" and "negated" in how[1]]
        for word, state, states in changes:
            if is_held and word in loose:
                continue
            if (state, states) == ("plain", {"negated"}):
                # "Cannot eat nuts", "allergic to nuts": neither is a negation of the other.
                is_turned = not is_past and (not is_allergy or bool(_ALLERGY.search(word)))
                is_turned = is_turned and not (is_ending or _is_fragment(line, word, texts))
                is_turned = is_turned and not any(_is_contrasted(text, word) for text in texts)
            else:
                is_turned = (state, states) == ("negated", {"plain"}) and not is_over
                is_turned = is_turned and not _stands_before(clause, word, denied)
                is_turned = is_turned and not _follows(clause, word, texts)
            if is_turned and word != "曜日":
                found.append(words.spelled.get(word, word))
        # "Tests should not come with it": nothing was denied at all.
        if words.negated and not is_denied and not is_over and not is_past and not is_allergy:
            found += _spelled(words, [one for one in list(words.negated)[:2] if words.negated[one]])
        if _GOES_ON.search(clause) and not is_ending and not words.negated:
            ended = [one for one in rows if any(_has_ended(text, one) for text in texts)]
            found += _spelled(words, [one for one in ended if one not in loose])
        # "Does not work at Ferrum": where something is not done.
        if not is_over and not loose.isdisjoint(words.negated):
            found += [
                word
                for word, *states in changes
                if states == ["unsure", {"plain"}] and _is_name(words, word, line, language)
            ]
    return tuple(dict.fromkeys(found))


def _spelled(words: Words, found: Sequence[str]) -> list[str]:
    return [words.spelled.get(word, word) for word in found]


def _follows(clause: str, word: str, texts: Sequence[Text]) -> bool:
    """True when the denial of a word is an exception, or follows from what a text says."""
    if _EXCEPT.search(clause):
        return True
    says_how = _ENDS.search(clause) or _ALLERGY.search(clause)
    return not says_how and any(_may_be_denied(text, word) for text in texts)


def _stands_before(clause: str, word: str, denied: Sequence[str]) -> bool:
    """True when a word only says of what kind the thing is that is denied: "no slug pellets"."""
    plain = fold_accents(clause)
    return any(
        re.search(rf"{re.escape(word)}\w{{0,2}}[\s-]{re.escape(one)}", plain) for one in denied
    )


def _may_be_denied(text: Text, word: str) -> bool:
    """True when a text says that something ends, or is not tolerated: then there is none of it."""
    return any(
        (
            (
                _ENDS.search(clause)
                or _HARMS.search(clause)
                or (_ALLERGY.search(clause) and not _ALLERGY.search(word))
            )
            and WordSet(words.all).has(word)
        )
        or any(word in one and _ALLERGY.search(one) for one in words.all if one != word)
        for clause, words in clauses_of(text.source)
    )


def _has_ended(text: Text, word: str) -> bool:
    return any(
        _ENDS.search(clause) and not words.negated and WordSet(words.all).has(word)
        for clause, words in clauses_of(text.source)
    )


def _is_contrasted(text: Text, word: str) -> bool:
    return any(WordSet(words_of(part).all).has(word) for part in _before_contrasts(text.source))


def _before_contrasts(source: str) -> Iterator[str]:
    for sentence in re.split("[.;]", source):
        denial = _CONTRASTED.search(sentence)
        if denial and _CONTRARY.search(sentence, denial.end()):
            yield sentence[: denial.start()]


def _is_fragment(line: Text, word: str, texts: Sequence[Text]) -> bool:
    """True when characters of a line are only a part of a name that is said and not denied: 真理 of
    真理子."""
    runs = {unit.run for unit in line.units if word in unit.run}
    return bool(runs) and all(run != word and _is_affirmed(run, word, texts) for run in runs)


def _is_affirmed(run: str, word: str, texts: Sequence[Text]) -> bool:
    return any(
        run in clause and word not in words.negated
        for text in texts
        for clause, words in clauses_of(text.source)
    )


def _weighty(words: Words) -> list[str]:
    rows = [word for word, weight in words.all.items() if weight > LIGHT_WEIGHT]
    rows = rows or [word for word, weight in words.all.items() if weight]
    return [word for word in rows if word not in LABELS] or rows


def _is_name(words: Words, word: str, line: Text, language: str) -> bool:
    if language == "cjk":
        return any(word in name for name in line.names)
    return words.spelled.get(word, word) in line.names


def _states(tiers: Sequence[Sequence[Text]], word: str) -> set[str]:
    for tier in tiers:
        if states := {state for text in tier for state in _states_in(text.source, word)}:
            return states
    return set()


@lru_cache(maxsize=4_000)
def _negation_sets(text: str) -> tuple[WordSet, WordSet, WordSet]:
    words = words_of(text)
    negated = {word for word, weight in words.negated.items() if weight}
    plain = {word for word, weight in words.positive.items() if weight}
    return WordSet(plain), WordSet(negated - words.uncertain), WordSet(negated & words.uncertain)


def _states_in(text: str, word: str) -> set[str]:
    found = zip(("plain", "negated", "unsure"), _negation_sets(text), strict=True)
    return {state for state, words in found if words.has(word)}


def _state(words: Words, word: str) -> str:
    if word not in words.negated:
        return "plain"
    return "unsure" if word in words.uncertain or word in words.positive else "negated"
