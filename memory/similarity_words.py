"""Word tables for the similarity of facts: negations, numbers, contractions, small words,
opposites, and the common subject."""

import re
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
    "niet geen nooit nie bez nic nikdy не нет никогда без "
    # Hindi, Arabic, Hebrew, Turkish, Korean, Greek
    "नहीं मत कभी لا ليس لم لن לא אין değil yok asla 안 못 δεν μη ποτέ"
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
    "seven sieben siete",
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
    "100": "hundred hundert cien ciento",
    "1000": "thousand tausend mil mille",
}
# Words that say something else in another language ("once", "sept", "cent") are left out, as the
# articles are; see ``memory.fact_quantities``.
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

# Words that take a contracted "is", "has" or "would".
_CLITIC_HEADS: Final = "he she it that there here what who where how let i you we they"
SUBJECT_CLITICS: Final = dict.fromkeys(_CLITIC_HEADS.split(), frozenset({"s", "d"}))
ELIDED: Final = frozenset({"l", "d", "j", "m", "t", "s", "c", "n", "qu", "dell", "all", "un"})

# Capitalised words that are no names.
NOT_NAMES: Final = frozenset({"i", "user", "mr", "mrs", "ms", "dr", "sie", "ihr", "ihre", "ich"})

# Words that may be missing from a fact that says the same. Prepositions are not among them.
_SMALL_WORDS: Final = (
    # English
    "the a an is am are do does also too that my "
    # German
    "der die das den dem des ein eine einen einem einer eines ist bin sind auch mein meine meinen "
    "meinem meiner dass "
    # Spanish, Portuguese, Italian
    "el la los las un una unos unas es está mi mis también o os um uma é está também meu minha "
    "il lo gli uno è mio mia anche "
    # French
    "le les une des est ma mes aussi "
    # Dutch, Swedish, Danish, Norwegian, Greek
    "het een mijn ook ett ο η το "
    # Russian, Ukrainian, Hindi
    "мой моя моё мои тоже мій моя है हैं मेरा मेरी मेरे"
)
_LIST_WORDS: Final = "and und y et och og и та και और و"
LIST_WORDS: Final = frozenset(_LIST_WORDS.split())
SMALL_WORDS: Final = frozenset(_SMALL_WORDS.split()) | LIST_WORDS
# Possessives may be missing as well, but two different ones make two facts.
_POSSESSIVES: Final = (
    "his her their our your sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser "
    "unsere его её их"
)
POSSESSIVES: Final = frozenset(_POSSESSIVES.split())

_OPPOSED: Final = (
    "left/right links/rechts gauche/droite izquierda/derecha before/after vor/nach avant/après "
    "antes/después from/to von/nach de/à with/without mit/ohne avec/sans con/sin over/under "
    "up/down above/below in/out on/off into/from like/dislike like/hate love/hate "
    "likes/dislikes likes/hates loves/hates mag/hasst aime/déteste always/never immer/nie "
    "toujours/jamais siempre/nunca sempre/mai often/rarely oft/selten can/cannot yes/no ja/nein "
    "oui/non all/none more/less mehr/weniger plus/moins increase/decrease increases/decreases "
    "rise/fall rises/falls steigt/sinkt open/closed opens/closes start/stop starts/stops "
    "begin/end begins/ends buy/sell buys/sells lend/borrow lends/borrows lent/borrowed "
    "give/take gives/takes gave/took first/last early/late old/new old/young alt/jung alt/neu "
    "big/small long/short high/low hot/cold warm/cold good/bad gut/schlecht true/false "
    "right/wrong richtig/falsch same/different allow/forbid allows/forbids allowed/forbidden "
    "accept/refuse accepts/refuses win/lose wins/loses won/lost sister/brother sisters/brothers "
    "mother/father mom/dad daughter/son wife/husband aunt/uncle niece/nephew "
    "grandmother/grandfather grandson/granddaughter girl/boy woman/man she/he her/his "
    "schwester/bruder mutter/vater tochter/sohn tante/onkel sœur/frère mère/père fille/fils "
    "hermana/hermano madre/padre hija/hijo сестра/брат мать/отец дочь/сын morning/evening "
    "day/night today/tomorrow north/south east/west import/export public/private "
    "positive/negative positiv/negativ minimum/maximum min/max enable/disable enabled/disabled "
    "employed/unemployed "
    "married/divorced alive/dead vegetarian/carnivore всегда/никогда любит/ненавидит до/после "
    "левый/правый"
)


def _table() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for pair in _OPPOSED.split():
        one, other = pair.split("/")
        found[one] = found.get(one, frozenset()) | {other}
        found[other] = found.get(other, frozenset()) | {one}
    return found


OPPOSITES: Final = _table()

# People around the user: what is said of them is not said of the user.
_RELATIVES: Final = (
    # English
    "brother sister mother father mom mum mummy dad daddy parent daughter son child kid wife "
    "husband partner girlfriend boyfriend fiance fiancee aunt uncle niece nephew cousin "
    "grandmother grandfather grandma grandpa grandson granddaughter friend colleague coworker boss "
    "neighbour neighbor roommate flatmate "
    # German
    "bruder schwester mutter vater mama papa eltern tochter sohn kinder frau ehefrau mann ehemann "
    "partnerin freundin freund tante onkel nichte neffe cousine vetter grossmutter grossvater oma "
    "opa enkel enkelin kollege kollegin chefin nachbar nachbarin "
    # French
    "frere soeur mere pere maman fille fils enfant femme epouse mari copain copine tante oncle "
    "neveu grand-mere grand-pere ami amie collegue voisin voisine "
    # Spanish, Portuguese, Italian
    "hermano hermana madre padre hija hijo esposa esposo marido mujer novia novio tia tio sobrina "
    "sobrino abuela abuelo amigo amiga colega jefe jefa vecino vecina irmao irma mae pai "
    "filha filho avo fratello sorella figlia figlio moglie marito nonna nonno amico amica "
    # Dutch, Polish, Czech, Russian
    "broer zus moeder vader dochter zoon vrouw man vriend vriendin oom brat siostra bratr "
    "matka ojciec corka syn przyjaciel sestra otec dcera manzel manzelka "
    "брат сестра мать мама отец папа дочь сын жена муж тетя дядя бабушка дедушка друг подруга "
    "коллега сосед соседка"
)
RELATIVES: Final = frozenset(
    form for word in _RELATIVES.split() for form in (word, f"{word}s", f"{word}'s", f"{word}en")
)
UNSPACED_RELATIVES: Final = re.compile(
    "兄弟|姉妹|[兄弟姉妹母父妻夫娘](?:さん|親|亲)?|息子|友達|友人|同僚|上司|部下|祖母|祖父|叔父|叔母|伯父|伯母"
    "|従兄弟|いとこ|隣人|彼氏|朋友|妈妈|爸爸|哥哥|姐姐|弟弟|妹妹|儿子|女儿|丈夫|妻子|老公|老婆|同事|邻居|奶奶|爷爷"
)

# The common subject of lines, at the beginning of a sentence. Not in "User interface".
_USER_WORDS: Final = (
    r"(?:the\s+)?users?(?:['\u2019]s?)?(?!-|\s+(?:interface|name|id|account|stor(?:y|ies)|guide|"
    r"manual|group|data|agent|space|experience|tests?)\b)"
    r"|(?:de[rsm]\s+|die\s+)?(?:be)?nutzer(?:s|in)?|l'\s?utilisat(?:eur|rice)|utilisat(?:eur|rice)"
    r"|(?:el\s+|la\s+|o\s+|a\s+)?usu[aá]ri[oa]|l'\s?utente|(?:de\s+)?gebruiker|użytkowni(?:k|czka)"
    r"|uživatel(?:ka)?|användaren|brugeren|brukeren|käyttäjä|(?:a\s+)?felhasználó|kullanıcı"
    r"|(?:у\s+)?пользовател(?:ь|я|ю|ьница)|користувач(?:ка)?|(?:ο\s+|η\s+)?χρήστ(?:ης|ρια)"
    r"|utilizator(?:ul)?|người\s+dùng|pengguna|المستخدم(?:ة)?|کاربر|המשתמש(?:ת)?"
    r"|(?:उपयोगकर्ता|यूज़र|यूजर)(?:\s+(?:ने|को|का|की|के))?|ব্যবহারকারী(?:র|কে)?|பயனர்"
    r"|(?:사용자|이용자|유저)(?:는|은|가|이|의|님은|님이)?"
)
_UNSPACED_USER: Final = (
    r"(?:ユーザー?|利用者)(?:さん)?(?:は|が|の)|(?:该|該)?(?:用户|用戶|使用者)的?(?![名界群组組数數端])"
    r"|ผู้ใช้(?:งาน)?(?!\s*อื่น)"
)
# First persons mean the same subject; the third person may be somebody else.
_FIRST_PERSON: Final = (
    r"i(?:'m|'ve|'d|'ll)?|ich|je|yo|eu|io|ik|я|मैं|나는|저는|(?:私|僕|俺)(?:は|が)|j'(?=\w)"
    r"|我(?!们|們)"
)
_THIRD_PERSON: Final = (
    r"(?:he|she|they)(?:'s|'re|'ve|'d|'ll)?|er|sie|il|elle|él|ella|ele|ela|lui|lei|hij|zij|ze|он|она"
    r"|그는|그녀는|(?:彼|彼女)は|[他她](?!们|們|的)"
)
_UNSPACED_PRONOUN: Final = r"(?<=は)|(?<=が)|(?<=[我他她'])"
SUBJECT: Final = re.compile(
    r"(?:^|(?<=[.!?;•\n—] )|(?<=[。！？\n]))(?P<lead>[*_\"'(\s]{0,4})"
    rf"(?:(?:{_USER_WORDS})(?![\w'-])|{_UNSPACED_USER}"
    rf"|(?:{_FIRST_PERSON})(?:(?![\w'-])|{_UNSPACED_PRONOUN})"
    rf"|(?P<pronoun>{_THIRD_PERSON})(?:(?![\w'-])|{_UNSPACED_PRONOUN}))",
    re.IGNORECASE,
)
