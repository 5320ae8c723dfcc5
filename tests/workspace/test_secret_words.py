"""Passwords, PINs and access codes that are told in words."""

import pytest

from jenny.workspace.redact import redact

# The sentence, and the secret in it.
TOLD = [
    ("my wifi password is hunter2", "hunter2"),
    ("The password is Tr0ub4dor&3.", "Tr0ub4dor&3"),
    ("My password: swordfish", "swordfish"),
    ("the password is swordfish.", "swordfish"),
    ("My PIN is 4711.", "4711"),
    ("PIN: 0815", "0815"),
    ("the PIN for my bank card is 9034", "9034"),
    ("Our alarm code is 7741#", "7741#"),
    ("The door code is 2580, please remember.", "2580"),
    ('The passphrase is "correct horse battery staple".', "correct horse battery staple"),
    ("The password for the router is still bluewhale99", "bluewhale99"),
    ("I changed the password to Winter2026!", "Winter2026!"),
    ("hunter2 is my password", "hunter2"),
    ("Log in with ana, password hunter22", "hunter22"),
    ("Use Sommer2026! as the password.", "Sommer2026!"),
    ("the code is 4711", "4711"),
    ("passcode = 123456", "123456"),
    ("My laptop's password is `p4ssw0rd`", "p4ssw0rd"),
    ("My password for the workshop's server is Quartz-Heron-77.", "Quartz-Heron-77"),
    ("The PIN of Anna's bike is 4711.", "4711"),
    ("The password's hunter2", "hunter2"),
    ("Das Passwort lautet Sonnenblume7.", "Sonnenblume7"),
    ("Mein WLAN-Passwort ist hunter2", "hunter2"),
    ("Passwort: Regenbogen", "Regenbogen"),
    ("Das Kennwort für den Router ist jetzt gX7-kk.", "gX7-kk"),
    ("Meine PIN ist 4711.", "4711"),
    ("Der Türcode ist 1379", "1379"),
    ("Die Geheimzahl lautet 5521.", "5521"),
    ("La contraseña es caballo7", "caballo7"),
    ("contraseña: caballito", "caballito"),
    ("La contraseña del wifi es hunter2", "hunter2"),
    ("Mi PIN es 4711", "4711"),
    ("La clave de acceso es x9Kq22", "x9Kq22"),
    ("Le mot de passe est soleil42", "soleil42"),
    ("mot de passe : soleil42", "soleil42"),
    ("Mon mot de passe du wifi, c'est noté : mot de passe = Azerty12", "Azerty12"),
    ("Le code PIN est 4711.", "4711"),
    ("Le digicode est 45B12", "45B12"),
    ("A senha do wifi é abacaxi9", "abacaxi9"),
    ("senha: abacaxi9", "abacaxi9"),
    ("A palavra-passe é Lisboa2026", "Lisboa2026"),
    ("La password è girasole8", "girasole8"),
    ("password del wifi: girasole8", "girasole8"),
    ("Het wachtwoord is fiets123", "fiets123"),
    ("wachtwoord: fiets123", "fiets123"),
    ("Hasło to zielony7kot", "zielony7kot"),
    ("hasło: zielony7kot", "zielony7kot"),
    ("Hasło do wifi to hunter2", "hunter2"),
    ("Kod do drzwi: 1379", "1379"),
    ("Heslo je modra7kocka", "modra7kocka"),
    ("heslo k wifi: hunter2", "hunter2"),
    ("Пароль: солнышко7", "солнышко7"),
    ("пароль от вайфая — hunter2", "hunter2"),
    ("Мой ПИН-код 4711", "4711"),
    ("Wifi şifresi: hunter2", "hunter2"),
    ("Şifrem kedi1234", "kedi1234"),
    ("パスワードはhunter2です", "hunter2"),
    ("WiFiのパスワードは sakura88 です。", "sakura88"),
    ("暗証番号は4711です。", "4711"),
    ("密码是hunter2", "hunter2"),
    ("WiFi密码：hunter2。", "hunter2"),
    ("비밀번호는 hunter2 입니다", "hunter2"),
    ("와이파이 비밀번호는 hunter2예요", "hunter2"),
    ("كلمة المرور هي hunter2", "hunter2"),
    ("كلمة السر: hunter2", "hunter2"),
    ("wifi ka password hunter2 hai", "hunter2"),
    ("पासवर्ड hunter2 है", "hunter2"),
    ("मेरा पिन 4711 है", "4711"),
]
NOT_TOLD = [
    "the password policy is strict",
    "I forgot my password",
    "PIN is required",
    "My password is not for you. Passwort: keines.",
    "The password is too weak.",
    "The password is strong",
    "The password was changed yesterday.",
    "The password is 12 characters long.",
    "Passwords are hashed with argon2id.",
    "The password is stored in KeePass2.",
    "The password must have 12 characters and a digit.",
    "Password reset is at 10:30 on Friday.",
    "I use the password manager 1Password.",
    "1Password is my password manager",
    "The PIN is 4 digits.",
    "The PIN has 6 digits",
    "The password is: see the letter.",
    "password: str",
    "password = form.cleaned_data['password']",
    "password: ${DB_PASSWORD}",
    "The password is on page 12.",
    "The password was last changed on 2026-11-30",
    "Reset the password to continue.",
    "Set the password to something long.",
    "Two-factor is better than a password alone.",
    "The error code is 4040.",
    "The zip code is 90210.",
    "The code is 2000 lines long",
    "The dress code is casual",
    "The status code is 5000.",
    "She is called Pin and lives at 4711 Main Street",
    "Pin the message from 2026 to the top.",
    "Asked how to choose a good password.",
    "Is the password required?",
    "password: required",
    "The password is the same as before.",
    "He knows the password.",
    "What is the password for the guests?",
    "Das Passwort ist falsch.",
    "Das Passwort ist abgelaufen",
    "Die PIN ist erforderlich.",
    "Das Passwort muss 12 Zeichen haben.",
    "Passwort vergessen?",
    "Hat das Passwort am 30.11.2026 geändert.",
    "La contraseña es segura.",
    "Olvidé mi contraseña",
    "La contraseña debe tener 12 caracteres",
    "Le mot de passe est obligatoire.",
    "J'ai oublié mon mot de passe",
    "A senha é obrigatória.",
    "Esqueci a senha do wifi",
    "La password è scaduta.",
    "Het wachtwoord is verlopen.",
    "Hasło jest wymagane.",
    "Zapomniałem hasła do wifi",
    "Heslo je správné.",
    "Пароль неверный.",
    "Я забыл пароль от почты",
    "Şifre yanlış.",
    "Şifremi unuttum",
    "パスワードは必須です。",
    "パスワードを忘れました",
    "密码是必填的",
    "我忘记了密码",
    "비밀번호는 필수입니다",
    "비밀번호를 잊어버렸어요",
    "كلمة المرور مطلوبة",
    "पासवर्ड गलत है",
    "The keynote is at 14:00, the password game after it.",
    "The passport is 10 years old; the passage is 300 m long.",
    "[redacted: password] stands there instead",
]


def test_the_corpus_is_large_enough() -> None:
    """Figures over few sentences would say little."""
    assert len(TOLD) >= 60
    assert len(NOT_TOLD) >= 60


def test_recall_and_precision() -> None:
    """At least 95 % of what is told is found, and at most 2 % of what is not is taken for it."""
    missed = [text for text, secret in TOLD if secret in redact(text).text]
    wrong = [text for text in NOT_TOLD if redact(text).hits]
    assert len(missed) <= 0.05 * len(TOLD), missed
    assert len(wrong) <= 0.02 * len(NOT_TOLD), wrong


@pytest.mark.parametrize(("text", "secret"), TOLD)
def test_only_the_secret_goes(text: str, secret: str) -> None:
    """What stands around it stays, the kind is said, and a second time changes nothing."""
    found = redact(text)
    assert secret not in found.text
    (hit,) = found.hits
    assert hit.kind in {"password", "PIN", "access code"}
    before, after = text.split(secret, 1) if text.count(secret) == 1 else (text, "")
    assert found.text.startswith(before)
    assert found.text.rstrip("!.").endswith(after.rstrip("!."))
    assert redact(found.text).text == found.text


@pytest.mark.parametrize("text", NOT_TOLD)
def test_speaking_of_passwords_tells_none(text: str) -> None:
    """A false alarm would take away what somebody said."""
    assert redact(text).text == text


def test_several_in_one_message_all_go() -> None:
    """Each is found, whatever stands between them."""
    text = (
        "wifi password is hunter2, my PIN is 4711 and the door code is 2580. Das Passwort: Regen77"
    )
    found = redact(text)
    assert not any(secret in found.text for secret in ("hunter2", "4711", "2580", "Regen77"))
    assert sum(hit.count for hit in found.hits) == 4


@pytest.mark.parametrize(
    "text",
    [
        "password " * 30_000,
        "password for " * 30_000,
        "the password is " * 20_000,
        "set the password " * 20_000,
        "pin" * 100_000,
        "code is " * 40_000,
        "password" + " " * 200_000,
        "a1 is my " * 30_000,
        "パスワードは" * 30_000,
        "password: " + "a1" * 100_000,
    ],
)
def test_hostile_texts_end(text: str) -> None:
    """The work grows with the text's length."""
    assert len(redact(text).text) > 0
