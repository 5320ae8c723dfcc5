"""Find secrets in sentences: "my wifi password is hunter2", "Das Passwort lautet …", "パスワードは…です".

A match is a noun (password, PIN, access code), a linking word, and a value. The value counts when
it looks like a secret: it is quoted, has digits or signs among its letters, or is a single word
that ends the sentence and is not one that describes a password. Every pattern reads a character a
bounded number of times.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_PASSWORD = (
    r"pass[- ]?(?:words?|phrases?|codes?)|passwd|pwd|wi-?fi key"
    r"|(?:wlan-?|wifi-?|haupt|master-?)?pass(?:wort|wörter|phrase)(?:s|es)?|kennw(?:ort|örter)(?:s|es)?"
    r"|zugangsdaten|contraseñas?|clave(?: de acceso| secreta)?|mots? de passe|senhas?|palavras?-passe"
    r"|parola d['\u2019]ordine|wachtwoord(?:en)?|hasł[oaemu]+|hesl[oauem]+"
    r"|парол(?:ь|я|ю|ем|е|и)|şifre(?:m|miz|si|niz|sini)?|parola(?:m|mız|sı)?|lösenord(?:et)?"
    r"|パスワード|パスフレーズ|密码|密碼|口令|비밀번호|패스워드|비번"
    r"|كلم[ةه] (?:ال)?(?:مرور|سر)|كلم[ةه] السر|كلمة مرور\w{0,3}|पासवर्ड"
)
_PIN = (
    r"pins?(?:[- ]?(?:codes?|numbers?|nummers?|kod))?|code pin|código pin|codice pin|kod pin|kód pin"
    r"|geheimzahl|пин(?:-?код)?|暗証番号|ピンコード|रहस्य पिन|पिन|الرقم السري|رقم التعريف الشخصي|핀번호"
)
_CODE = (
    r"(?:door|gate|entry|access|alarm|security|unlock|lock|safe|building|garage|garden|front door|locker"
    r"|verification|recovery|bank|card|key ?pad|voicemail|sim|puk)[- ]codes?"
    r"|(?:tür|zugangs|alarm|sicherheits|tor|schloss|haus|safe|entsperr)-?code|zugangscode"
    r"|digicode|code d['\u2019]accès|code (?:de la porte|de l['\u2019]alarme|du portail)|toegangscode"
    r"|código (?:de acceso|de acesso|de la puerta|da porta|de la alarma|do alarme)"
    r"|codice (?:di accesso|della porta|dell['\u2019]allarme)|kod (?:do (?:drzwi|bramy|domofonu)|dostępu)"
    r"|kód (?:od dveří|k alarmu|ke dveřím|od brány)|код (?:от|доступа|домофона|двери)"
    r"|kapı kodu|giriş kodu|アクセスコード|门禁密码|门锁密码|출입 ?코드|رمز (?:الدخول|الباب)"
)
_NOUN = rf"(?:(?P<password>{_PASSWORD})|(?P<pin>{_PIN})|(?P<code>{_CODE}))"
# Compounds that mention passwords but do not name one.
_NO_COMPOUND = (
    r"(?![-\s]?(?:polic(?:y|ies)|managers?|resets?|fields?|hash(?:es|ing)?|generators?|length|expir|prompts?"
    r"|change[sd]?\b|protect|hints?|lists?|strength|rules?|form|page|box|file|store|vault|safe\b|entry|input"
    r"|based|less|authenti|richtlinie|länge|feld|wechsel|schutz|regel|requirements?|s? are\b))"
)
# In scripts without spaces a word may begin anywhere.
_START = (
    r"(?:(?<![^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
    r"|(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]))"
)
# The owner of the password: "for the router", "do sieci", "für das WLAN".
_WHOSE = (
    r"(?:[ \t]{1,4}(?:for|of|to|on|at|für|fürs|zum|zur|zu|von|vom|beim|de|del|della|do|da|du|des|pour|per|para|au|à"
    r"|van|voor|od|dla|na|k|ke|pro|для|от|к|на|der|des|لل\w{1,20}|ل)[ \t]{1,4}[^\n.:;!?=，。]{1,40}?)?"
)
_WORDS = (
    r"is|was|are|will be|equals|ist|war|lautet|heißt|bleibt|est|était|es|era|é|eh|è|e['\u2019]|luidt|to|jest|brzmi|je|zní"
    r"|это|был|была|هي|هو|hai|är"
)
_NOW = (
    r"(?:[ \t]{1,4}(?:now|still|just|currently|always|simply|again|jetzt|nun|noch|immer|ahora|sigue siendo"
    r"|maintenant|toujours|agora|adesso|ora|nu|teraz|nyní|teď|теперь|сейчас|artık|şimdi|الآن))?"
)
_LINK = (
    rf"(?:[ \t]{{0,4}}(?P<strong>[:：=]|->|→|—|–)[ \t]{{0,4}}|[ \t]{{1,4}}(?P<weak>{_WORDS}){_NOW}[ \t]{{0,4}}(?P<colon>[:：]?)[ \t]{{1,4}}"
    rf"|[ \t]?(?P<stuck>は|が|是|为|為|는|은|가|이)[ \t]?[:：]?[ \t]{{0,4}})"
)
_QUOTED = r"(?P<open>[\"'`“„«‘‚「『])(?P<quoted>[^\n\"'`“”„«»‘’」』]{3,64})[\"'`”“»’‘」』]"
_VALUE = r"(?P<value>[^\s\"'`“”„«»‘’「」『』<>，。、！？]{3,64})"
_TOLD = re.compile(
    # Behind "for the workshop", "'s" is no "is".
    rf"{_START}{_NOUN}{_NO_COMPOUND}(?:{_WHOSE}{_LINK}|['\u2019]s[ \t]{{1,4}})(?:{_QUOTED}|{_VALUE})",
    re.IGNORECASE,
)
_BARE = re.compile(rf"{_START}{_NOUN}{_NO_COMPOUND}[ \t]{{1,4}}{_VALUE}", re.IGNORECASE)
_SET = re.compile(
    rf"\b(?:changed?|set|reset|updated?|switch(?:ed)?)\b[^\n.:;!?]{{0,30}}?{_START}{_NOUN}{_WHOSE}"
    rf"[ \t]{{1,4}}(?:to|as)[ \t]{{1,4}}(?:{_QUOTED}|{_VALUE})",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"(?<!\S)(?:{_QUOTED}|(?P<value>[^\s\"'`“”„«»]{{4,64}}))[ \t]{{1,4}}"
    r"(?:(?:is|ist|es|est|é|è|was)[ \t]{1,4}(?:my|the|our|his|her|mein|das|unser|mi|la|mon|le|notre|o|a|il)|"
    r"as(?:[ \t]{1,4}(?:the|my|your|our|a))?|als|como|comme(?:[ \t]{1,4}le)?|jako)[ \t]{1,4}(?:[\w-]{1,20}[ \t]{1,4}){0,2}"
    rf"{_NOUN}{_NO_COMPOUND}(?!\w)",
    re.IGNORECASE,
)
_PLAIN_CODE = re.compile(
    r"\b(?<!error )(?<!status )(?<!zip )(?<!postal )(?<!country )(?<!area )(?<!exit )"
    r"(?:the|my|our) (?P<code>code) is:? (?P<value>\d{4,8})(?=[.,;!?)]*(?:\s|$))(?! +(?:lines|bytes|characters))",
    re.IGNORECASE,
)
# In lower case. Nearly all texts have none of these, which a quick scan shows.
_HINTS = (
    *("pass", "pwd", "wifi key", "wi-fi key", "pin", "code", "kennw", "zugang", "geheimzahl"),
    *(
        "contrase",
        "clave",
        "senha",
        "palavra",
        "parola",
        "wachtw",
        "hasł",
        "hesl",
        "lösen",
        "şifre",
    ),
    *("kod ", "kód ", "codice", "código", "kapı kodu", "giriş kodu", "парол", "код", "пин"),
    *(
        "パス",
        "暗証",
        "ピン",
        "アクセス",
        "密码",
        "密碼",
        "口令",
        "비밀번호",
        "패스워드",
        "비번",
        "출입",
        "핀번호",
    ),
    *("كلم", "الرقم", "رمز", "رقم", "पास", "पिन"),
)
# Words that describe a password.
_DESCRIBES = frozenset(
    """
    not no none null nil true false empty blank unknown required optional mandatory needed necessary wrong right
    correct incorrect valid invalid strong weak strict secure insecure safe unsafe secret private public hidden
    masked same different new old long short simple complex complicated easy hard good bad fine okay ok ready
    there here gone lost missing found known forgotten expired changed saved stored set reset sent shared stolen
    leaked compromised encrypted hashed protected important temporary permanent default case-sensitive sensitive
    string str text bytes int integer number value type object array undefined hunter todo tbd n/a na xxx
    me you him her us them mine yours his hers ours theirs this that it what which where when why how who
    kein keine keines keiner unbekannt nötig erforderlich notwendig falsch richtig korrekt gültig ungültig stark
    schwach sicher unsicher geheim gleich neu alt lang kurz einfach weg da hier vergessen abgelaufen geändert
    gespeichert pflicht optional ninguna ninguno segura seguro débil fuerte correcta incorrecta secreta nueva
    obligatoria obligatorio necesaria requerida aucun aucune sûr fort faible correct incorrect secret nouveau
    obligatoire nécessaire requis oublié expiré nenhuma segura fraca forte correta errada secreta nova obrigatória
    necessária nessuna sicura debole corretta sbagliata segreta nuova obbligatoria necessaria richiesta scaduta
    geen veilig sterk zwak juist fout verkeerd geheim nieuw verplicht nodig verlopen brak silne słabe poprawne
    błędne tajne nowe wymagane potrzebne konieczne žádné silné slabé správné špatné tajné nové povinné nutné
    нет неверный верный правильный надёжный надежный слабый сильный секретный новый обязателен нужен истёк истек
    забыт yok güçlü zayıf yanlış doğru gizli yeni zorunlu gerekli なし 無し 不明 必要 必須 秘密 无 無 没有 未知
    必填 错误 正确 安全 없음 필수 필요 비밀 안전 خاطئة صحيحة قوية ضعيفة سرية مطلوبة لازمة غلط मजबूत गलत सही ज़रूरी
    """.split()
)
_ENDINGS = re.compile(
    r"(?:ed|ing|able|ible|ly|ful|less|ive|ous|ant|ent|ary|ory|isch|lich|bar|bare?)$"
)
_NAMES = re.compile(
    r"(?i)(?:1password|base64|sha-?\d+|md5|oauth2?|argon2\w*|bcrypt|pbkdf2|utf-?8|ipv[46]|python\d*"
    r"|windows\d*|keepass\w*|lastpass|bitwarden|dashlane|x509|rfc\d+|http2?|wpa[23]|2fa|mfa|totp|i18n|k8s)"
)
_MEASURE = re.compile(
    r"(?i)\d+[- ]?(?:char|digit|letter|stellig|zeichen|ziffer|bit|caract|znak|signs?|символ|знак|文字|桁|位|자리"
    r"|cifre|dígit|chiffre|haneli|tekens|cijfer)"
)
_UNITS = re.compile(
    r"(?i)\s{1,3}(?:char|digit|letter|zeichen|ziffer|stellen|bits?\b|bytes?\b|caract|dígit|chiffre|cifre|znak|cyfr"
    r"|символ|знак|цифр|文字|桁|位|个字符|자리|글자|hane|karakter|tekens|cijfers|days?\b|tage\b|months?\b|weeks?\b"
    r"|hours?\b|minutes?\b|times?\b|years?\b|attempts?\b|years?\b|users?\b|percent|%)"
)
_CALL = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|[A-Za-z_]\w*\.[A-Za-z_][\w.]*$|https?:|www\.|[./~]?/\w|--?[a-z]|\w+@\w+\."
)
_CLAUSE_END = re.compile(
    r"[.,;!?)।。、]*(?:\s*$|\s*\n|[.,;!?)।。、]\s|\s+(?:and|und|et|y|e|i|a|и|ve|but|aber)\s)"
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]?(?:\d{2,4})?|\d{1,2}:\d{2}")
_HAI = re.compile(r"\s{1,3}(?:hai|है|हैं)\b")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A secret in a text: its position, and its kind in words."""

    start: int
    end: int
    kind: str


def find(text: str) -> list[FoundSecret]:
    """Find the secrets in *text*, in order, without overlaps."""
    if not _has_hint(text):
        return []
    rows: list[FoundSecret] = []
    at = 0
    for line in text.split("\n"):
        if _has_hint(line):
            found = [
                row for pattern, is_secret in _PATTERNS for row in _found(pattern, line, is_secret)
            ]
            rows += [FoundSecret(row.start + at, row.end + at, row.kind) for row in found]
        at += len(line) + 1
    kept: list[FoundSecret] = []
    for row in sorted(rows, key=lambda row: (row.start, -row.end)):
        if not kept or row.start >= kept[-1].end:
            kept.append(row)
    return kept


def _has_hint(text: str) -> bool:
    small = text.lower()
    return any(hint in small for hint in _HINTS)


def _found(
    pattern: re.Pattern[str], text: str, is_secret: Callable[[re.Match[str], str, int], bool]
) -> Iterator[FoundSecret]:
    at = 0
    while match := pattern.search(text, at):
        # The end of this one may be the beginning of the next one.
        at = max(match.start() + 1, match.start("value") if match["value"] else match.end())
        if match.groupdict().get("quoted"):
            if match["quoted"].lower() not in _DESCRIBES and match["quoted"][0] != "[":
                yield FoundSecret(match.start("quoted"), match.end("quoted"), _kind(match))
            continue
        start, value = match.start("value"), match["value"]
        if _CJK.search(match[0][: start - match.start()]) and (
            ascii_part := re.match(r"[!-~]{3,64}", value)
        ):
            value = ascii_part[0]
        value = value.rstrip(".,;:)]}?।")
        if (
            len(value) >= 3  # noqa: PLR2004 - nothing shorter is one
            and value[0] not in "[{<$%("
            and is_secret(match, value, start + len(value))
        ):
            yield FoundSecret(start, start + len(value), _kind(match))


def _kind(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("pin"):
        return "PIN"
    return "access code" if groups.get("code") else "password"


def _is_told(match: re.Match[str], value: str, end: int) -> bool:
    text = match.string
    if text[end : end + 1] in ("'", "\u2019") and text[end + 1 : end + 2].isalpha():
        return False
    is_pin = bool(match["pin"] or match["code"])
    if match["strong"] == "=" and _CALL.match(value):
        return False
    if _is_random(value, text, end):
        return True
    if is_pin and not value.isalpha():
        return False
    is_strong = match["strong"] or match["colon"] or (match["weak"] or "").lower() in _SPEAKING
    return _is_word(value, text, end, is_strong=bool(is_strong))


def _is_bare(match: re.Match[str], value: str, end: int) -> bool:
    text = match.string
    if _HAI.match(text, end):
        return _is_random(value, text, end) or value.lower() not in _DESCRIBES
    if match["pin"] or match["code"]:
        return value.isdigit() and len(value) > 3 and not _is_counted(value, text, end)  # noqa: PLR2004 - a PIN
    return len(value) > 4 and _is_mixed(value) and _is_random(value, text, end)  # noqa: PLR2004 - no abbreviation


# Links after which any word is the password.
_SPEAKING = frozenset({"lautet", "luidt", "brzmi", "zní", "is", "ist", "was", "war"})


def _is_set(match: re.Match[str], value: str, end: int) -> bool:
    return _is_random(value, match.string, end)


def _is_before(match: re.Match[str], value: str, end: int) -> bool:
    return _is_mixed(value) and _is_random(value, match.string, end)


def _is_random(value: str, text: str, end: int) -> bool:
    """True when it is not a word: digits, or signs and capitals among its letters."""
    if _is_counted(value, text, end) or _NAMES.fullmatch(value) or _CALL.match(value):
        return False
    if any(char.isdigit() for char in value):
        return True
    letters = value.rstrip("!?.")
    if re.search(r"[a-z][A-Z]|[A-Za-z][!@#$%^&*_+=~|][A-Za-z]", letters) and not letters.endswith(
        "_"
    ):
        return True
    return letters.count("-") > 1 and letters.lower() not in _DESCRIBES


def _is_counted(value: str, text: str, end: int) -> bool:
    """True for a measure, a date or a time."""
    if _MEASURE.match(value) or _DATE.fullmatch(value.rstrip("!")):
        return True
    return value.isdigit() and _UNITS.match(text, end) is not None


def _is_mixed(value: str) -> bool:
    """True when letters and digits, or letters and signs, are mixed."""
    has_letter = any(char.isalpha() for char in value)
    return has_letter and any(char.isdigit() or char in "!@#$%^&*_+=~" for char in value)


def _is_word(value: str, text: str, end: int, *, is_strong: bool) -> bool:
    """True when a single word is meant to be the password itself."""
    plain = value.rstrip("!").lower()
    if not is_strong or not plain.isalpha() or len(plain) < 5 or plain in _DESCRIBES:  # noqa: PLR2004 - shorter words have other uses
        return False
    return not _ENDINGS.search(plain) and _CLAUSE_END.match(text, end) is not None


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str, int], bool]], ...] = (
    (_TOLD, _is_told),
    (_BARE, _is_bare),
    (_SET, _is_set),
    (_BEFORE, _is_before),
    (_PLAIN_CODE, lambda _match, _value, _end: True),
)
