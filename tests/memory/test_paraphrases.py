"""A forgotten line is recognised in other words, and another line with the same words is not."""

import pytest

from memory.paraphrases import ParaphraseMatcher
from memory.suppression.tombstones import State, sought, tombstone

# A forgotten text, whether it was a line (or a value that was forgotten alone), sentences that say
# it, and sentences that say something else.
TEXTS = [
    (
        "Favourite drink is oat milk",
        True,
        [
            "Her favourite drink: oat milk.",
            "Oat milk is the user's favourite drink",
            "The user's favourite drinks are oat milks",
            "Likes oat milk, her favourite drink, in the morning",
        ],
        [
            "Favourite drink is almond milk",
            "Favourite food is oat porridge",
            "Buys milk on Fridays",
            "Brother's favourite drink is oat milk",
        ],
    ),
    (
        "oat milk",
        False,
        [
            "Every morning she has oat milk in her coffee.",
            "Allergic to oat milk",
            "Orders coffee with oat milk",
        ],
        ["Buys milk on Fridays", "Oat flakes and fresh milk for breakfast", "Likes milk"],
    ),
    (
        "Plays golf",
        True,
        [
            "Golf is what the user plays on Sundays",
            "She played golf in Spain",
            "Playing golf with Tom every week",
        ],
        [
            "Brother Tom plays golf",
            "Likes watching golf",
            "Plays the viola",
            "The user's sister plays golf well",
        ],
    ),
    (
        "Likes tea",
        True,
        ["The user likes tea very much", "Liked tea as a child"],
        [
            "Likes her team",
            "Allergic to tea",
            "Does not like tea",
            "Likes coffee",
            "Her mother likes tea",
        ],
    ),
    (
        "Allergic to nuts",
        True,
        ["Has been allergic to nuts since childhood", "Nuts: the user is allergic"],
        [
            "Allergic to cats",
            "Not allergic to nuts",
            "Buys nuts on Saturday",
            "Her son is allergic to nuts",
        ],
    ),
    (
        "Wohnt in der Lindenstraße 5",
        True,
        [
            "Die Wohnung ist in der Lindenstraße 5, dort wohnt sie",
            "In der Lindenstraße 5 wohnt die Nutzerin",
        ],
        [
            "Wohnt in der Lindenstraße 7",
            "Wohnt in der Bahnhofstraße 5",
            "Arbeitet in der Lindenstraße 5",
        ],
    ),
    (
        "Trinkt gern Hafermilch",
        True,
        ["Hafermilch trinkt sie gern", "Am liebsten trinkt sie gern Hafermilch im Kaffee"],
        [
            "Trinkt gern Mandelmilch",
            "Trinkt keine Hafermilch",
            "Ihre Schwester trinkt gern Hafermilch",
        ],
    ),
    (
        "Riesling",
        False,
        ["Trinkt am liebsten Riesling", "Lieblingswein: Riesling"],
        ["Lieblingswein: Chardonnay"],
    ),
    (
        "Joue du violon depuis 2015",
        True,
        ["Depuis 2015, elle joue du violon", "Jouait du violon depuis 2015"],
        [
            "Joue du piano depuis 2015",
            "Joue du violon depuis 2018",
            "Son frère joue du violon depuis 2015",
        ],
    ),
    (
        "Trabaja en Banco Sol",
        True,
        ["En Banco Sol trabaja desde mayo", "Trabajaba en Banco Sol"],
        ["Trabaja en Banco Luna", "Su hermana trabaja en Banco Sol"],
    ),
    (
        "コーヒーが好き",
        True,
        ["ユーザーはコーヒーが好きです", "好きな飲み物はコーヒーです"],
        ["紅茶が好き", "コーヒーは好きではない", "兄はコーヒーが好き", "コーヒーメーカーを買った"],
    ),
    (
        "オートミルク",
        False,
        ["毎朝オートミルクをコーヒーに入れる", "好きな飲み物はオートミルク"],
        ["毎朝牛乳を飲む", "アーモンドミルクが好き"],
    ),
    (
        "猫の名前はミケ",
        True,
        ["ミケという名前の猫を飼っている", "飼い猫の名前はミケです"],
        ["犬の名前はポチ", "猫の名前はタマ", "猫を飼っている"],
    ),
    (
        "京都に住んでいる",
        True,
        ["現在は京都に住んでいます", "住まいは京都"],
        ["大阪に住んでいる", "東京都に住んでいる", "母は京都に住んでいる"],
    ),
    ("ゴルフをする", True, ["毎週末ゴルフをします"], ["テニスをする", "父はゴルフをする"]),
    (
        "我喜欢喝茶",
        True,
        ["用户很喜欢喝茶", "喝茶是她喜欢的事"],
        ["我喜欢喝咖啡", "不喜欢喝茶", "妈妈喜欢喝茶"],
    ),
    (
        "Играет на скрипке",
        True,
        ["На скрипке пользователь играет с детства", "Играла на скрипке"],
        ["Играет на рояле", "Сестра играет на скрипке"],
    ),
    ("Hraje golf", True, ["Golf hraje každou neděli"], ["Hraje tenis", "Bratr hraje golf"]),
    (
        "Phone number is 0471 123456",
        True,
        ["0471 123456 is her phone number", "Phone: number 0471 123456"],
        ["Phone number is 0471 123457", "Office phone number is 0472 123456"],
    ),
    (
        "PIN 4711",
        False,
        ["The PIN of the card is 4711"],
        ["The PIN of the card is 4712", "Room 4711"],
    ),
    (
        "Tom's sister Ana lives in Ghent",
        True,
        ["In Ghent lives Ana, the sister of Tom"],
        ["Tom's sister Eva lives in Ghent", "Tom's brother lives in Ghent", "Ana lives in Lund"],
    ),
    (
        "Ana lent Ben 50 euros",
        True,
        ["50 euros: Ana lent them to Ben"],
        ["Ben lent Ana 50 euros", "Ana lent Ben 60 euros"],
    ),
    (
        "Prefers tea over coffee",
        True,
        ["Tea is what she prefers over coffee"],
        ["Prefers coffee over tea"],
    ),
    (
        "Vegan",
        True,
        ["The user is vegan", "Is a vegan", "Eats vegan"],
        ["Her brother is vegan", "The vegan restaurant in Lund has good soup"],
    ),
    (
        "Drives a red Volvo",
        True,
        ["Her Volvo, which she drives, is red", "The user has driven a red Volvo since May"],
        ["Drives a blue Volvo", "Bought a red bicycle", "Drives a red Tesla"],
    ),
    (
        "Riesling",
        True,
        ["Favourite wine is Riesling", "Her daughter brought Riesling"],
        ["Favourite wine is Chardonnay"],
    ),
    (
        "Works as a nurse at St. Anna hospital",
        True,
        [
            "At St. Anna hospital she is working as a nurse",
            "Nurse, works at the St. Anna hospital",
        ],
        ["Works as a teacher at St. Anna school", "Was treated at St. Anna hospital by a nurse"],
    ),
    # In text without spaces one other name is another fact, whatever its script.
    ("คุณ anna ชอบดื่มชา", True, ["คุณ Anna ชอบดื่มชา"], ["คุณ berta ชอบดื่มชา", "คุณ Berta ชอบดื่มชา"]),
    (
        "妹妹 lena 住在湖边的老房子里",
        True,
        ["妹妹 Lena 住在湖边的老房子里"],
        ["妹妹 mara 住在湖边的老房子里"],
    ),
    (
        "lena さんは金曜日に来ます",
        True,
        ["Lena さんは金曜日に来ます"],
        ["mara さんは金曜日に来ます"],
    ),
    (
        "The office printer on the second floor needs toner cartridge xj90 every month",
        True,
        ["Every month the office printer on the second floor needs the toner cartridge xj90"],
        ["The office printer on the second floor needs toner cartridge xj80 every month"],
    ),
]


@pytest.mark.parametrize(("text", "is_line", "same", "other"), TEXTS)
def test_words_in_any_order_and_inflection_are_recognised(text, is_line, same, other):
    """Every word that matters is there, in whatever order and form, in several languages; a fact
    that only shares words, is denied, or is a relative's, is another one."""
    state = State((tombstone(text, path="USER.md" if is_line else ""),))
    assert [line for line in same if state.match(line) is None] == []
    assert [line for line in other if state.match(line) is not None] == []
    # Judged by the letters alone, none of them is passed over.
    words = ParaphraseMatcher(one for row in state.active for one in sought(row))
    assert [line for line in same if not words.may_be_in(line)] == []
