"""Words that say the same (``SYNONYMS``), words of which one excludes the others (``CLASSES``), and
the places in which one word stands for another.

A run puts facts into other words. Words of one row of the first table are the same word to the
comparison of what it writes with what was said; a word of the second table that takes the place of
another one of its row, or joins it, makes another fact. Rows are of everyday life, work and notes.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from jenny.text_normalisation import fold, fold_accents, is_unspaced
from memory.fact_units import Text, Unit
from memory.fact_words import has_same_stem

_ENGLISH = """
    afraid fear fearful scared frightened terrified phobia/allergic allergy/angry annoyed upset/
    answer reply response respond/appointment visit consultation/approve approval approved accept/
    arrive arrival come reach delivered/ask request inquire/assist assistance help support aid/
    attend attendance participate participation join visit go/audience readers readership
    subscribers followers listeners viewers/avoid abstain skip refrain omit/baby infant newborn/
    begin beginning start commence launch kick onset/big large huge sizeable/bike bicycle cycle
    cycling cyclist biking/boss manager supervisor superior/bread loaf/breakfast meal/brief short
    concise terse succinct/buy purchase acquire obtain get shop/calm quiet silent/car automobile
    vehicle/care look tend nurse carer caretaker/cheap inexpensive affordable budget/check inspect
    examine review verify measure monitor test/child kid children/choose pick select opt choice
    selected/church chapel parish/clean tidy wash/clever smart/close near nearby adjacent/coach
    train trainer instructor coaching/collect pickup fetch gather/company firm business employer
    enterprise/complete finish done conclude end/consider think weigh ponder/construct build built
    assemble/cook cooking prepare make/cost price fee charge expense rate costs/country nation
    state/cover include contain comprise/create make produce craft/cure heal recover recovery/
    daily everyday/damage damaged broken break defect faulty/date day deadline due submission
    submit/deal handle manage/decide decision resolve determined/defer postpone delay push
    reschedule/delete remove erase/deliver delivery ship shipping arrive/depart leave departure/
    describe explain outline/design designer layout/despise dislike hate detest/details specifics
    particulars/develop developer programmer build coding coder/die death died passed deceased/
    diet nutrition eating/difficult hard tough tricky challenging/dinner supper/discount rebate
    reduction/disease illness condition disorder sickness/divide split share/doctor physician gp/
    dog puppy hound canine/cat kitten feline/draft sketch/drive driving driver/dwell live reside
    residence home house based located/early soon/earn income salary wage paid pay/eat consume
    meals diet/economical frugal thrifty/edit revise change modify alter update adjust/education
    degree studies study/elderly old aged/email mail message/employ hire recruit engage/enrol
    enroll register sign join/enjoy like love fond keen enthusiast fan passionate/exam test
    examination/excellent great good/excursion outing trip tour/exercise workout train training/
    expensive costly/explain describe/faith religion/fast quick rapid/favourite favorite
    preferred/fee dues charge/female woman/film movie/fix repair mend restore refurbish/flat
    apartment/flight fly flying/flower bloom/fluent fluently/focus concentrate emphasis/food meal
    dish cuisine/football soccer/foreign abroad overseas/found establish establishment start/free
    available/frequently often regularly regular/friend pal buddy/front ahead/garden gardening
    yard allotment/get receive obtain/gift present/give donate/glasses spectacles/goal aim target
    objective intend plan want/graduate graduation finish/group team crew band ensemble/grow raise
    cultivate/guess estimate/guide lead/happen occur take/happy glad pleased/harm hurt injure
    injury/health healthy well fine/hike hiking walk trek/hint tip advice advise recommend
    recommendation suggest suggested/hobby pastime interest interested/holiday vacation holidays
    trip/honest frank/honour award prize/hour hourly/household home family/ice icy frost/ill sick
    unwell/illustrate draw drawing/image picture photo photograph/important crucial key essential/
    improve better enhance/inform notify tell alert/inherit inherited/insomnia sleepless/insurance
    insured/invite invitation/invoice bill/keep store retain hold/key passphrase/kind type sort/
    kindergarten nursery preschool daycare/language tongue/laptop notebook computer/large big/late
    delayed/laugh joke humour humor/law legal lawyer attorney/lawn grass/lead head run chair
    direct/lease rent rental tenancy/lecture talk class course lesson/left gone/letter post/light
    lamp/link url/list bullet/listen listening hear/loan credit mortgage/lodger tenant renter/
    landlord owner/look search seek hunt/lose lost/lunch midday noon/male man/manual handbook/
    marathon race/married spouse/match game/medicine medication drug tablet pill meds/meet meeting
    gathering session/memory ram/metric si/mild slight light/mobile phone cell smartphone/money
    funds/mornings morning/motorbike motorcycle/mountain hill/move relocate relocation removal/
    neighbour neighbor/new recent newly/newsletter bulletin/night nightly overnight/nordic
    scandinavian/note notes record/novel book/nurse nursing carer/obligatory mandatory compulsory
    required must/occasion event/offer quote/often usually/online web/open launch/operate run/
    operation surgery operated/opponent rival/order sequence/organise organize arrange/own have
    possess/owner owns/paint painting/parcel package/partner spouse party celebration celebrate/
    password passcode/pause break rest/peaceful calm/permanent lasting/permit allow permission/pet
    animal/physiotherapy physio/piece part/place spot location/plan intend schedule scheduled/
    plant grow/play player playing musician/police cop/poor bad/practise practice rehearse
    rehearsal/prefer preference favour like want wish desire/pregnant expecting/prepare
    preparation/preserve conserve/prevent stop/previous former earlier/print printed/probably
    likely/profession job occupation career work/professor prof/promote promotion promoted/proof
    evidence/provide supply/pull drag/pupil student learner/put place/quarterly quarter/quick
    fast/quit resign stop cease/rain rainy wet/rare seldom/reach contact/read reader/real actual/
    rebuild renovate renovation/recipe cooking/refer mention/refund reimburse/relative family kin/
    release publish publication launch ship go/remember recall/remind reminder/remote wfh
    homeoffice telework/rent tenancy/replace replacement swap exchange change substitute/report
    summary/rescue shelter/reserve reservation book booked booking/restaurant eatery/result
    outcome/retire retirement pension/return back/ride riding rider/road street lane/room chamber/
    rough approximate/rule policy/run running runner jog jogging/safe secure/sail sailing/salary
    pay/sale sell sold/save saving backup/say state/school classes/science scientist/score mark
    grade/sea ocean/seat place/section chapter part/see watch/seedling seedlings plant/send sent
    mail forward/serious severe/set configure/sew sewing/shape form/share portion/shift duty/shop
    store/short brief/show display/shy timid/sing singer vocals vocalist singing/site website
    page/size measure/ski skiing/skill ability/sleep asleep/slow slowly/small little tiny/smoke
    smoking smoker/snow snowy/soil ground earth/spare extra/speak speaker talk/special specialise
    specialist/spend spent/sponsor fund/sport athletics/spring springtime/staff employees workers
    personnel team/start starting/stay remain/stepfather stepdad/story tale/stress strain/strict
    rigorous/study learn learning/subject topic/succeed follow/suffer have/sugar sweet/suit fit/
    summer summertime/supply provide/supervise supervisor mentor tutor oversee advise/surname
    last/swim swimming swimmer/take bring/teach teacher teaching instruct/team squad/tell say/tent
    camping camp/term semester/thesis dissertation/thin slim/tired fatigue/title heading/together
    jointly/tool instrument/tooth dental dentist/top best/tour trip/town city/track follow/trade
    job/train rail railway/translate translation translator/travel travelling traveling journey
    trip trips/treat therapy treatment/tree trees/trousers pants/trust rely/try attempt/twin
    twins/type kind/typical usual/ultimate final/underground subway metro/understand comprehend/
    unemployed jobless/university college uni/unit measure/upset sad/urgent pressing/use utilise
    utilize using apply via/vegan vegan/vehicle car/vet veterinarian/view opinion/violent brutal/
    vintage old antique/visit see/voice vocal/vote elect/wait await/walk walking/want wish/
    warranty guarantee/waste rubbish trash garbage/water watering irrigate/wear wearing dressed/
    website site/wedding marriage marry/weekend weekends/weigh weight/well properly/wheelchair
    mobility/wine vino/win victory/winter wintertime/woods forest/work employed job worker/world
    globe/worry concern anxious anxiety/write author writing compose publish/wrong incorrect/
    yearly annual annually/yoga yogi/young youth younger/zero none premature early prematurely/
    adopt adopted rescue got/mainly mostly primarily chiefly predominantly/sometimes occasionally/
    suit tolerate fine ok okay/unless except/currently now present presently/upcoming next
    forthcoming/pending open outstanding unresolved unbooked/approximately around about roughly/
    host moderate chair facilitate/vocals singing/hub centre center/shelf rack/pupil schoolchild/
    overview summary/reference source citation/headline title/figure number figures data/spelling
    orthography/instructions directions guidance/backup copy/passenger rider/season time/hire
    rent/plug connect/borrow lend loan/award grant/draft version/meal lunch dinner/noise loud
    noisy/quiet silence/allergen allergy/tablet pill/surgery operation/crossing ferry/heating
    heat/cooling cool/charge charging/battery accumulator/installation install/deadline due/
    subscription subscribe subscribed subscriber/
"""
_GERMAN = """
    frühling frühjahr/samstag sonnabend/angst fürchten furcht ängstlich fürchtet scheut/antwort
    antworten antwortet erwidern/arzt ärztin mediziner doktor/auto wagen pkw fahrzeug/fahrrad rad/
    anfang beginn start anfangen beginnen starten losgehen/ende schluss enden abschluss
    abschließen/aufhören beenden/ändern änderung anpassen wechseln wechsel umstellen/anruf anrufen
    telefonieren telefonat/arbeit job beruf tätigkeit arbeiten beschäftigt angestellt tätig/
    arbeitgeber firma unternehmen betrieb/aufgeben einstellen/aufwachsen aufgewachsen/ausflug
    fahrt tour reise/reise reisen verreisen verreist unterwegs urlaub/abgabe abgeben einreichen
    fällig frist termin/bauen errichten/bauchweh bauchschmerzen magenschmerzen/bedeuten heißen/
    begleiten mitgehen/behandlung therapie behandeln/bekommen erhalten kriegen/benutzen nutzen
    verwenden gebrauchen einsetzen verwendet/betreuen betreuung betreuer betreuerin kümmern
    pflegen versorgen anleiten/bewohnen wohnen leben zuhause wohnsitz/bezahlen zahlen zahlung/
    bitten bitte wünschen möchten wollen wunsch bevorzugen vorziehen mögen/brauchen benötigen/
    brief post/buch roman lektüre/buchen reservieren buchung reservierung gebucht/büro office/chef
    vorgesetzter vorgesetzte leiter leiterin/computer rechner notebook laptop/denken meinen/
    deutlich klar/dick schwer/direktor leiter/einkaufen kaufen erwerben besorgen anschaffen kauf/
    einladen einladung/einrichten installieren/einzelheiten details/empfehlen empfehlung rat raten
    ratschlag/enkel enkelkind/entscheiden entscheidung beschließen beschluss entschlossen/
    entwickler programmierer/erbe erben geerbt/erfahren erfahrung/erinnern erinnerung/erkrankung
    krankheit leiden/erlernen lernen/ernährung essen kost isst ernähren diät/ersetzen ersatz
    austauschen ablösen tauschen/erzählen berichten/erziehen erzieher/fachmann experte/fahren
    fährt pendeln/familie angehörige/fehlen mangeln/feiern feier fest party/fenster scheibe/ferien
    urlaub/fertig abgeschlossen beendet/film kino/finden suchen/fließend flüssig/flug fliegen
    fliegt/freund kumpel/freundin partnerin/früher ehemals vormals/frühstück frühstücken/führen
    leiten leitung/garten gärtnern beet/gebäude haus/gebühr beitrag kosten preis/geburt geboren/
    frühgeburt früh frühgeborene frühchen/gehalt lohn einkommen verdienst verdienen/gehen laufen/
    gemeinde kirche/gemüse grünzeug/genesen gesund erholt/geschenk schenken/gesellschaft verein/
    gesang singen singt sänger sängerin stimme/gewicht wiegen/gießen bewässern/gleich selb/groß
    riesig/grund ursache/gruppe team mannschaft/gucken schauen sehen ansehen/gut prima/gymnasium
    schule/handy telefon smartphone mobiltelefon/haushalt zuhause/heilen genesung/heimat herkunft/
    heirat hochzeit heiraten verheiratet ehe/helfen hilfe unterstützen unterstützung/herstellen
    produzieren/hinweis tipp/hobby freizeit/hochschule universität uni studium/hören anhören/hund
    welpe/impfen impfung/informieren benachrichtigen/insgesamt gesamt/interesse interessiert/
    jährlich jahr jedes/jogging joggen laufen/jugend jung/kaputt defekt beschädigt/karte ticket/
    kennenlernen treffen/kind kinder/kindergarten kita krippe/klavier piano/klein gering/knapp
    kurz/kochen zubereiten koch/kollege mitarbeiter/kommen eintreffen ankommen ankunft anreisen/
    komponieren schreiben/kontrollieren prüfen messen messung überprüfen kontrolle/krank erkrankt/
    kunde klient/kündigen kündigung/kur reha/kurs unterricht stunde lehrgang/lagern aufbewahren
    ablegen speichern abgelegt liegen/lang länge/laut lärm/lehren unterrichten beibringen/lehrer
    lehrerin/leicht einfach/lernen üben übt/lesen liest/letzt vorig/liebe lieben/liefern lieferung
    zustellen/link verweis/liste aufzählung stichpunkte/lösen lösung/machen tun/maler malen/
    medikament arznei tabletten tablette mittel/mieten miete mietwohnung/mitbringen mitnehmen
    bringen/mitglied angehören/mittag mittagessen/mitteilen sagen/monatlich monat/morgen morgens
    früh/motorrad moped/nachbar nachbarin/nacht nachts nächtlich/nahrung essen/neu frisch/notiz
    vermerk/oft häufig regelmäßig/operation op operieren operiert/ordnen sortieren/ort stelle/
    paket sendung päckchen/partner lebensgefährte/passwort kennwort/pause unterbrechung/pension
    rente/pferd reiten/pflanze setzling/pflicht obligatorisch verpflichtend muss/plan planen
    vorhaben vorhat beabsichtigen ziel/platz raum/polizei polizist/preis auszeichnung/probe proben
    probt/projekt vorhaben/prüfung klausur examen/publizieren veröffentlichen erscheinen
    herausgeben erscheint/putzen reinigen/quartal vierteljahr/quelle beleg/rabatt nachlass/
    rechnung faktura/reden sprechen/regel vorschrift/renovieren sanieren/reparieren reparatur/
    restaurant lokal gaststätte/rezept kochen/richtung kurs/rollstuhl gehbehindert/ruhig leise
    still/sanft mild/satt genug/schicken senden verschicken versenden/schlafen schlaf/schließen
    zu/schlimm schwer stark/schmal dünn/schmerz weh/schnell rasch/schreiben verfassen schreibt
    autor/schule unterricht/schwimmen schwimmer/schwierig schwer/sehen betrachten/selten kaum/
    sicher gewiss/sicherung sichern backup/sitzung besprechung meeting treffen/sommer sommerlich/
    sortiment auswahl/sparen ersparnis/speicher ram arbeitsspeicher/spielen spielt musiziert/
    spielfilm film/sport training trainieren trainiert/sprache mundart/spritze injektion/stadt
    ort/start veröffentlichung/stehen befinden/sterben tod verstorben gestorben/steuer finanzamt/
    stoppen halten/straßenbahn tram/student studierender studierende/studieren studium studiert/
    stunde stündlich/suchen suche/tag täglich/teilnehmen mitmachen besuchen teilnahme/telefon
    anruf/teuer kostspielig/thema gegenstand/tisch tafel/tragen anhaben/training übung/trennen
    trennung/treppe stufen/u-bahn metro/übernehmen übernahme/übersetzen übersetzung übersetzer/
    überweisen überweisung/umziehen umzug/unfall verunglücken/unterlagen dokumente/unternehmen
    firma/vegetarisch fleischlos/verabreden verabredung/veranstaltung event/verein club klub/
    vergessen entfallen/verkaufen verkauf/verlangen fordern/verlieren verlust/vermeiden meiden
    verzichten/verreisen reise/verschieben verschiebung verlegen vertagen verschoben verlegt/
    versicherung versichert/verspätet spät/verstehen begreifen/vertrag kontrakt/vertragen
    verträglich bekommen/verwandt familie/viel zahlreich/vorbereiten vorbereitung/vorlesen lesen/
    vorliebe mögen/vorname name/vorsitz vorsitzende leiten/wald forst/wandern wanderung/waschen
    wäsche/wechseln tauschen/weg strecke/wein rebensaft/werkstatt atelier/wetter klima/wichtig
    wesentlich/wiederholen nochmals/winter winterlich/woche wöchentlich/wohnung appartement
    apartment/wort ausdruck/wut ärger/zahl ziffer zahlen/zahnarzt zahnärztin/zeichnen zeichnung/
    zeit dauer/zimmer raum/zuerst erst anfang/zug bahn/zugreifen zugriff/zusammenfassung
    überblick/zustimmen zustimmung/zuverlässig verlässlich/
"""
_JAPANESE = """
    歯科 歯医者 デンタル/眼科 目医者/内科 病院/皮膚科 皮膚/整骨院 接骨院 整体/図書 図書館/保育園
    幼稚園 託児/以内 以下 上限 最大 まで 超え/下書 草案 ドラフト 草稿 たたき台/けが 怪我 負傷 痛
    傷/妊娠 出産 身ごも/依頼 頼 お願/必要 要 必須/共同 一緒 共に/取り替 替 交換 付け替/同じ
    変わらな そのまま/司会 進行 議長/怖 恐/開始 始 スタート 着手/終了 終 完了 修了/購入 買 取得
    入手/売却 売 販売/運動 走 ランニング ジョギング 体操 トレーニング 練習 訓練 稽古/散歩 歩
    ウォーキング/自転車 サイクリング バイク通勤/通勤 通 通学 通院 出勤/旅行 旅 出張 外出/訪問 訪
    会いに行 見舞/勉強 学習 学 習 レッスン 受講/指導 教 コーチ 講師 監督/料理 調理 自炊 作/食事 食
    ご飯 献立 食生活/飲用 飲/睡眠 寝 眠 就寝/起床 起/送付 送 郵送 発送 提出/受取 受け取 受領
    引き取/到着 届 着 配達 配送/返信 返事 回答 答 応答/要約 まとめ 概要 サマリー/詳細 細 詳/末尾
    最後 末 終わり/冒頭 最初 始め 先頭 まず/出典 参考 ソース 引用元/希望 望 欲 好 求 要望/嗜好 好
    愛 お気に入り ファン/嫌悪 嫌 苦手 避/心配 不安 懸念/病気 疾患 症 病/服用 飲 薬/薬 内服 錠剤
    投薬/治療 療法 手当/手術 オペ/入院 病院/リハビリ 療養/医師 医者 先生 ドクター 主治医/獣医
    動物病院/健康 元気 体調良/住所 住 居住 在住 暮/引越 引っ越 転居 移転 移/家賃 賃料/大家 家主
    貸主/会社 企業 勤務先 職場 勤/上司 マネージャー/同僚 仲間/仕事 職業 勤 働 業務/退職 辞 離職
    引退/就職 入社 採用/昇進 昇格/会議 打ち合わせ ミーティング 打合 会合 朝会/予定 計画 つもり
    見込 予/延期 遅 先送 後ろ倒 ずれ/変更 変 改 切り替/中止 取りやめ キャンセル やめ/決定 決 判断/
    提案 勧 推薦 すす/担当 受け持 務 係/管理 世話 面倒/使用 使 利用 用/保存 保管 置 格納 入/削除
    消 除去/修理 直 修復 修繕/交換 買い替 取り替 置き換/更新 アップデート/作成 作 制作 製作/執筆
    書 著/発行 出 配信 刊行/購読者 読者 登録者 フォロワー/観戦 見 観 視聴 鑑賞/演奏 弾 吹 奏/歌
    ボーカル 歌手 歌唱/参加 出席 加 所属/結婚 夫婦 既婚 入籍/離婚 別れ/誕生 生 出生/死去 亡 他界
    死/子供 子ども 子/両親 父母/双子 ふたご/友人 友達 友/隣人 隣 近所/猫 ネコ/犬 イヌ/車 自動車
    クルマ/電車 鉄道 列車/飛行機 空路 便/庭 ガーデニング 園芸 畑/植物 草花/水やり 水をや/掃除 清掃
    片付/洗濯 洗/支払 払 納付 決済/請求書 請求/費用 料金 代金 代 値段 価格/給料 給与 収入 年収/
    貯金 貯蓄/保険 保障/契約 締結/申請 申込 申し込 応募/予約 手配 確保/未予約 予約していな まだ取/
    締切 締め切り 期限 期日/毎朝 朝/毎晩 晩 夜/毎週 週/毎月 月/週末 土日/夏 夏季/冬 冬季/春 春季/
    秋 秋季/短 簡潔 簡単/長 ロング/多 たくさん/少 わずか/大 大き/小 小さ/早 早期/遅 遅く/安 安価
    格安/高 高価/難 困難/易 簡単 容易/静 静か/新 新し/古 古い ヴィンテージ/携帯 持ち歩 常備 所持/
    スマホ スマートフォン 携帯電話/パソコン PC コンピューター コンピュータ/メモリ メモリー RAM/
    パスワード 暗証/メール 電子メール/写真 フォト/映画 ムービー/音楽 ミュージック/小説 本 物語/
    言語 語/流暢 ペラペラ 堪能/母語 母国語/大学 大学院/学校 スクール/学生 生徒/論文 卒論 修論/比較
    比/調査 調/検査 測 測定 計測/確認 チェック/説明 解説/連絡 知らせ 通知 相談 話/電話 通話/手紙
    便り/贈 プレゼント/祝 お祝い/趣味 楽 ホビー/釣 フィッシング/登山 山登 ハイキング/水泳 泳
    スイミング/編物 編/陶芸 焼き物/絵画 絵 描/写経 書道/茶 お茶/菜食 ベジタリアン/完全菜食
    ヴィーガン ビーガン/減塩 塩分控/無糖 砂糖なし 砂糖抜/左利 左きき/右利 右きき/眼鏡 メガネ/
    車椅子 車いす/視力 目/聴力 耳 聞/相続 受け継 継/祖父 おじいさん/祖母 おばあさん/経営 営 運営/
    開業 開店 オープン/閉店 閉 休業/開催 行 実施/場所 会場 ところ/集合 集/練習 稽古 リハーサル/
    試験 テスト/合格 受か/資格 免許/卒業 修了/転職 転/独立 起業/翻訳 訳/通訳 訳/設計 デザイン/開発
    プログラ/公開 リリース 発表/発売 発/移行 乗り換 移/在宅 テレワーク リモート/単身 一人/同居
    一緒/養子 引き取 迎え/保護 シェルター/世話 飼 飼育/搬送 運 輸送/充電 チャージ/暖房 ヒーター/
    照明 ライト/修正 訂正 直/箇条書 リスト/
"""


# Each row is one thing of which one kind is no other.
_CLASSES = """
    berlin hamburg munich münchen cologne köln frankfurt stuttgart düsseldorf leipzig dresden
    hanover hannover nuremberg nürnberg bremen vienna wien graz salzburg linz innsbruck zurich
    zürich basel bern geneva genf london manchester leeds bristol edinburgh glasgow dublin paris
    lyon marseille madrid barcelona valencia lisbon lissabon porto rome rom milan mailand turin
    naples neapel prague prag brno brünn warsaw warschau krakow krakau budapest copenhagen
    kopenhagen oslo stockholm helsinki amsterdam rotterdam brussels brüssel antwerp antwerpen
    athens athen istanbul boston chicago seattle toronto sydney/piano guitar violin viola cello
    flute drums trumpet saxophone clarinet harp organ bass trombone oboe accordion ukulele banjo/
    cat dog rabbit horse hamster parrot bird fish turtle goat sheep cow pig chicken/tea coffee
    beer wine juice milk cocoa whisky vodka rum gin/peanut walnut almond hazelnut cashew shellfish
    shrimp egg soy gluten lactose wheat celery sesame penicillin aspirin ibuprofen latex pollen/
    red blue green yellow black white brown grey gray orange purple pink/spring summer autumn
    winter/breakfast lunch dinner/tennis football basketball volleyball hockey golf rugby cricket
    badminton squash handball baseball/swimming running cycling rowing boxing fencing judo karate
    yoga dancing climbing skiing surfing/diabetes asthma cancer epilepsy arthritis migraine stroke
    coeliac celiac dyslexia dyscalculia depression anaemia hepatitis pneumonia gout/heart kidney
    liver lung stomach brain skin/knee hip shoulder ankle wrist elbow neck/english german french
    spanish italian portuguese dutch polish czech russian arabic turkish japanese chinese korean
    hindi greek swedish danish norwegian finnish hungarian british american/solar wind gas oil
    coal nuclear/metric imperial/euro dollar pound yen crown franc/chemistry physics biology
    mathematics history geography philosophy/nurse teacher lawyer engineer accountant architect
    carpenter plumber electrician pharmacist journalist analyst designer pilot/rent insurance
    salary mortgage tax/bus train tram ferry plane car bicycle motorbike/vegan vegetarian
    pescatarian/boy girl/sugar salt pepper honey milk lemon/iron zinc calcium magnesium/windows
    linux macos android ios/python java javascript rust ruby php golang/monthly weekly daily
    yearly quarterly/aisle window/upstairs downstairs/mountain sea/clay sand sandy chalk peat/
    landlord police mayor/klavier gitarre geige bratsche cello flöte schlagzeug trompete saxophon
    klarinette harfe orgel posaune akkordeon/katze hund kaninchen pferd hamster papagei vogel
    fisch schildkröte ziege schaf kuh schwein huhn/tee kaffee bier wein saft milch kakao schnaps/
    erdnuss walnuss mandel haselnuss garnele krabbe krebstier muschel soja gluten laktose weizen
    sellerie sesam penicillin aspirin ibuprofen latex pollen birke/rot blau grün gelb schwarz weiß
    braun grau orange lila rosa/frühling sommer herbst winter/frühstück mittagessen abendessen/
    tennis fußball basketball volleyball hockey golf rugby cricket badminton handball/schwimmen
    laufen rudern boxen fechten judo karate yoga tanzen klettern/diabetes asthma krebs epilepsie
    arthrose migräne schlaganfall herzinfarkt zöliakie legasthenie dyskalkulie depression
    hepatitis gicht laktoseintoleranz/herz niere leber lunge magen/knie hüfte schulter knöchel
    handgelenk ellbogen nacken/englisch deutsch französisch spanisch italienisch portugiesisch
    niederländisch polnisch tschechisch russisch arabisch türkisch japanisch chinesisch koreanisch
    griechisch schwedisch dänisch norwegisch britisch amerikanisch/solarstrom windstrom solar wind
    gas öl kohle/metrisch imperial/euro dollar pfund yen kronen franken/chemie physik biologie
    mathematik geschichte erdkunde philosophie/krankenpfleger lehrer anwalt ingenieur buchhalter
    architekt tischler klempner elektriker apotheker journalist/miete versicherung gehalt steuer/
    bus bahn straßenbahn flugzeug auto fahrrad motorrad/vegan vegetarisch/junge mädchen/zucker
    salz pfeffer honig milch zitrone/vermieter polizei bürgermeister/bellt beißt/ton lehm sand
    torf/ピアノ ギター バイオリン ヴィオラ チェロ フルート ドラム トランペット サックス
    クラリネット ハープ 琴 三味線 太鼓/猫 犬 兎 馬 ハムスター 鳥 亀 山羊 羊 牛 豚/緑茶 玉露 紅茶
    コーヒー ビール ワイン 日本酒 焼酎 牛乳 ウイスキー/ピーナッツ クルミ アーモンド エビ カニ 卵
    大豆 小麦 そば ペニシリン アスピリン 花粉/赤 青 緑 黄 黒 白 茶色 灰色 紫/テニス サッカー
    バスケット バレーボール ホッケー ゴルフ ラグビー クリケット 野球 卓球/水泳 ダンス 剣道 柔道
    空手 ヨガ 体操/糖尿病 喘息 癌 脳卒中 心筋梗塞 肝臓病 腎臓病 セリアック病 乳糖不耐症 うつ病
    痛風/膝 腰 肩 足首 手首 肘 首 背中/英語 日本語 ドイツ語 フランス語 スペイン語 イタリア語
    中国語 韓国語 ロシア語 ポルトガル語 アラビア語 チェコ語 オランダ語/イギリス式 アメリカ式/
    ユーロ ドル 円 ポンド/化学 物理 生物 数学 歴史 地理/看護師 教師 弁護士 技師 会計士 建築家 大工
    薬剤師 記者/家賃 保険料 給料 税金/バス 電車 路面電車 飛行機 船 自転車/禁煙 禁酒/左 右/男子
    女子/吠 噛/A型 B型 O型 AB型/市役所 図書館 教会 学校 公民館/粘土 砂/大家 警察 管理人/春 夏 秋
    冬/朝食 昼食 夕食/東京 京都 大阪 名古屋 横浜 神戸 札幌 福岡 仙台 広島 長崎 金沢 奈良 鎌倉
    横須賀 千葉 埼玉 川崎 函館 小樽 小田原 熱海 新潟 静岡 岡山 熊本 鹿児島 沖縄 那覇 松山 高松
    長野 青森 秋田 盛岡 福島 水戸 甲府 岐阜 大津 和歌山 鳥取 松江 山口 徳島 高知 佐賀 大分 宮崎
    富山 福井 別府 箱根 日光 軽井沢/佐藤 鈴木 高橋 田中 伊藤 渡辺 山本 中村 小林 加藤 吉田 山田
    佐々木 松本 井上 木村 斎藤 清水 山崎 池田 橋本 阿部 石川 森田 山下 中島 石井 小川 前田 岡田
    長谷川 藤田 後藤 近藤 村上 遠藤 青木 坂本 福田 太田 西村 藤井 金子 岡本 藤原 中野 三浦 原田
    中川 松田 竹内 小野 田村 中山 和田 石田 上田 柴田 酒井 宮本 横山 高木 安藤 谷口 大野 今井 河野
    西川 小山/
"""
_SHORTEST, _BEGINNING = 4, 3


def _rows(*tables: str) -> list[tuple[str, ...]]:
    rows = (row.split() for table in tables for row in table.split("/"))
    return [tuple(map(fold_accents, row)) for row in rows if len(row) > 1]


SYNONYMS = _rows(_ENGLISH, _GERMAN, _JAPANESE)
CLASSES = _rows(_CLASSES)


def _by_beginning(rows: list[tuple[str, ...]]) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for at, row in enumerate(rows):
        for word in row:
            found.setdefault(word[: 1 if is_unspaced(word[0]) else _BEGINNING], []).append(
                (word, at)
            )
    return found


_SYNONYMS_BY_BEGINNING = _by_beginning(SYNONYMS)


@lru_cache(maxsize=20_000)
def synonyms_of(word: str) -> tuple[str, ...]:
    """The other words of the rows that have a word, in any inflection."""
    rows = dict.fromkeys(
        at
        for other, at in _SYNONYMS_BY_BEGINNING.get(word[:_BEGINNING], ())
        if other == word or has_same_stem(other, word)
    )
    return tuple(dict.fromkeys(other for at in rows for other in SYNONYMS[at] if other != word))


@lru_cache(maxsize=4_000)
def _unspaced_rows(text: str) -> tuple[tuple[str, int], ...]:
    return tuple(
        (word, at)
        for char in dict.fromkeys(filter(is_unspaced, text))
        for word, at in _SYNONYMS_BY_BEGINNING.get(char, ())
        if word in text
    )


def unspaced_synonyms(text: str, other: str) -> frozenset[str]:
    """The words of a text without spaces of which another text has a synonym, and not the word."""
    rows: dict[int, list[str]] = {}
    for word, at in _unspaced_rows(fold(other)):
        rows.setdefault(at, []).append(word)
    return frozenset(
        word
        for word, at in _unspaced_rows(fold(text))
        if any(one != word for one in rows.get(at, ()))
    )


@lru_cache(maxsize=20_000)
def excluding(word: str) -> tuple[str, ...]:
    """The words of the rows of which a word is one kind."""
    rows = (row for row in CLASSES if any(is_kind_of(word, one) for one in row))
    return tuple(other for row in rows for other in row if not is_kind_of(word, other))


def is_kind_of(word: str, kind: str) -> bool:
    """True when a word is one of a class, inflected or with something in front: "Jazzklavier"."""
    if is_unspaced(kind[0]) or is_unspaced(word[0]):
        return False
    if has_same_stem(word, kind):
        return True
    return len(kind) >= _SHORTEST and len(word) > len(kind) + 1 and word.endswith(kind)


def find_excluded_unspaced(text: str, said: str) -> tuple[str, ...]:
    """The words of a text without spaces that exclude a word that was said, and were not said."""
    found = []
    for row in CLASSES:
        if is_unspaced(row[0][0]):
            new = [word for word in row if word in text and not all(char in said for char in word)]
            if new and any(word in said for word in row):
                found += new
    return tuple(found)


_INITIALS = re.compile(r"\b([A-ZÄÖÜ]{2,5})(?:s|en)?\b")
_SHORTENED = re.compile(r"\b([^\W\d]{1,5})\.")


def find_abbreviated(line: str, said: str) -> frozenset[str]:
    """The words of a line that abbreviate what was said ("PRs", "Str."), or spell it out."""
    found: set[str] = set()
    for text, other in ((line, said), (said, line)):
        for match in _INITIALS.finditer(text):
            words = re.search(
                r"\b" + r"[^\W\d]*[\s-]+".join(match[1]) + r"[^\W\d]*", other, re.IGNORECASE
            )
            if words:
                found |= {fold(match[0]), *re.split(r"[\s-]+", fold(words[0]))}
            letters = r"\w*?".join(map(re.escape, match[1]))
            if re.search(rf"\b(?=\w{{8}}){letters}", other, re.IGNORECASE):
                # "SB" of "Selbstbeteiligung".
                found.add(fold(match[0]))
    spoken = fold(said).split()
    shortened = map(fold, _SHORTENED.findall(line))
    return frozenset(found | {one for one in shortened if any(w.startswith(one) for w in spoken)})


# A name or a thing, "の", and a thing or a name.
_CJK_FRAME = re.compile(
    r"(?P<a>[\u4e00-\u9fff々\u30a1-\u30fa\u30fc]{1,6})の(?P<b>[\u4e00-\u9fff々]{1,3})(?=[はがをにでと:：、。(（]|$)"
)
_CJK_ROLE = re.compile("[母父妻夫娘兄弟姉妹]$|息子$|友人$|上司$|同僚$|先生$|祖[父母]$|犬$|猫$")
_GERMAN_PLACE = re.compile(
    r"(\w+)\s(?:\w+\s)?(bei|in|im|an|am|auf|aus|von|vom|nach|zur?|zum|mit)\s(?:(?:der|dem|den|das|die)\s)?"
    r"([A-ZÄÖÜ][\w-]+)"
)


def cjk_frames(text: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each word that belongs to another one, or to which another one belongs, with the place
    in which it stands: 玲奈 and (owner, 家), 和子 and (role, 母)."""
    for found in _CJK_FRAME.finditer(text):
        yield found["a"], ("owner", found["b"])
        if _CJK_ROLE.search(found["a"]) and len(found["b"]) > 1:
            yield found["b"], ("role", found["a"])


def german_frames(text: Text) -> list[tuple[Unit, tuple[str, str]]]:
    """List the nouns behind a preposition, each with the place in which it stands: Volksbank and
    (kredit, bei)."""
    units = {unit.run: unit for unit in text.units}
    return [
        (units[name], (fold(first), fold(preposition)))
        for first, preposition, name in _GERMAN_PLACE.findall(text.source)
        if name in units and first in units
    ]
