"""Words that matter for what is near: negations, numbers written out, contractions. A table."""

from typing import Final

_NEGATIONS: Final = (
    # English
    "not no never none nothing nobody nowhere neither nor without anymore stopped quit former "
    "formerly except unless "
    # German
    "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand niemanden niemandem "
    "ohne weder nirgends nirgendwo außer ausser "
    # Spanish, Portuguese, Italian
    "nunca jamás jamas nada nadie ningún ningun ninguno ninguna sin tampoco ni não nao nem sem non "
    "mai senza niente nessuno "
    # French ("ne" comes with one of these)
    "pas jamais rien aucun aucune sans nulle "
    # Dutch, Polish, Czech, Russian
    "niet geen nooit nie bez nic nikdy не нет никогда без"
)
NEGATIONS: Final = frozenset(_NEGATIONS.split())

_UNITS = (
    "zero null cero zéro",
    "eins uno",
    "two zwei dos deux",
    "three drei tres trois",
    "four vier cuatro quatre",
    "five fünf cinco cinq",
    "six sechs seis",
    "seven sieben siete sept",
    "eight acht ocho huit",
    "nine neun nueve neuf",
    "ten zehn diez dix",
    "eleven elf once onze",
    "twelve zwölf doce douze",
)
_MORE = {
    "20": "twenty zwanzig veinte vingt",
    "30": "thirty dreißig dreissig treinta trente",
    "40": "forty vierzig cuarenta quarante",
    "50": "fifty fünfzig cincuenta cinquante",
    "60": "sixty sechzig sesenta soixante",
    "100": "hundred hundert cien ciento cent",
    "1000": "thousand tausend mil mille",
}
# "once" is Spanish for eleven and an English word: it is left alone, as the articles are.
NUMBERS: Final = {
    word: number
    for number, row in [*((str(at), row) for at, row in enumerate(_UNITS)), *_MORE.items()]
    for word in row.split()
    if word != "once"
}

CONTRACTED: Final = {
    "can't": "can not",
    "cannot": "can not",
    "cant": "can not",
    "won't": "will not",
    "wont": "will not",
    "shan't": "shall not",
    "dont": "do not",
    "doesnt": "does not",
    "didnt": "did not",
    "isnt": "is not",
    "arent": "are not",
    "wasnt": "was not",
    "werent": "were not",
    "hasnt": "has not",
    "havent": "have not",
    "hadnt": "had not",
    "wouldnt": "would not",
    "shouldnt": "should not",
    "couldnt": "could not",
}

# What an apostrophe joins to the word before it ("Anna's", "they're") or after it ("l'ami").
CLITICS: Final = frozenset({"", "s", "re", "m", "ll", "ve", "d"})
ELIDED: Final = frozenset({"l", "d", "j", "m", "t", "s", "c", "n", "qu", "dell", "all", "un"})

# Capitalised, and no names.
NOT_NAMES: Final = frozenset({"i", "user", "mr", "mrs", "ms", "dr", "sie", "ihr", "ihre", "ich"})
