"""The commonest words of each language with spaces between words, by the name of its stemmer.

They tell the language of a text, and a question is not searched for them.
"""

_WORDS = {
    "english": (
        "i me my myself we our ours ourselves you your yours yourself yourselves he him his "
        "himself she her hers herself it its itself they them their theirs themselves what "
        "which who whom this that these those am is are was were be been being have has had "
        "having do does did doing a an the and but if or because as until while of at by for "
        "with about against between into through during before after above below to from up "
        "down in out on off over under again further then once here there when where why how "
        "all any both each few more most other some such no nor not only own same so than too "
        "very s t d ll m re ve can will just don should now would could"
    ),
    "german": (
        "aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei "
        "bin bis bist da dann das dass dein deine deinem deinen deiner dem den denn der des "
        "dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem "
        "einen einer eines er es etwas euch euer eure für hab habe haben hat hatte hatten "
        "hattest hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ist ja jede "
        "jeder jetzt kann kein keine können könnte mal man mein meine meinem meinen meiner "
        "meines mich mir mit muss nach nicht nichts noch nun nur ob oder ohne schon sehr sein "
        "seine seinem seinen seiner seit sich sie sind so soll über um und uns unser unsere "
        "unter viel vom von vor wann war waren warst warum was weil welche welchem welchen "
        "welcher welches wenn wer werde werden wem wen wie wieder will wir wird wirst wo wohin "
        "woher wollen worden wurde würde zu zum zur zwischen"
    ),
    "french": (
        "a à ai au aux avec avez avons c ce ces cet cette d dans de des du elle elles en es est "
        "et étais était étaient été être eu eux il ils j je l la là le les leur leurs lui m ma "
        "mais me mes moi mon n ne nos notre nous on ont ou où par pas pour qu quand que quel "
        "quelle quels quelles qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tu "
        "un une vos votre vous y comment pourquoi combien"
    ),
    "spanish": (
        "a al algo ante antes como cómo con contra cual cuál cuando cuándo de del desde donde "
        "dónde durante e el él ella ellas ellos en entre era eran es esa ese eso esta está "
        "están este esto estos fue fueron ha había han hasta hay he la las le les lo los más me "
        "mi mis mucho muy ni no nos nosotros o os para pero por porque que qué quien quién se "
        "ser si sí sin sobre son su sus también te tengo tiene todo tu tú tus un una uno unos y "
        "ya yo"
    ),
    "italian": (
        "a ad ai al alla alle anche c che chi ci come con contro cosa da dal dalla de dei del "
        "della delle di do dove e è ed era erano gli ha hai hanno ho i il in io l la le lei li "
        "lo loro lui ma mi mia mie miei mio ne nei nel nella noi non nostra nostro o per perché "
        "più quale quali quando quanto quella quello questa questo qui se sei si sia siamo sono "
        "sta su sua sue sui sul sulla suo ti tra tu tua tuo un una uno vi voi"
    ),
    "portuguese": (
        "a à ao aos aquela aquele aquilo as às até com como da das de dela dele do dos e é ela "
        "elas ele eles em entre era essa esse esta está este eu foi foram há isso isto já lhe "
        "mais mas me mesmo meu meus minha muito na não nas nem no nos nós o onde os ou para "
        "pela pelo por porque quando qual quais que quem se sem ser seu seus só sua suas também "
        "te tem teu tu tua um uma você"
    ),
    "dutch": (
        "aan al alles als altijd ben bij daar dan dat de der deze die dit doch doen door dus "
        "een er ge geen had heb hebben heeft hem het hier hij hoe hun ik in is ja je jij jouw "
        "kan kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat "
        "ons onze ook op over te tegen tot u uit uw van veel voor waar waarom wanneer want was "
        "wat we werd wie wij wil worden zal ze zei zelf zich zij zijn zo zonder zou"
    ),
    "swedish": (
        "all alla allt än är att av bara blev bli de dem den denna deras dess dessa det detta "
        "dig din dina ditt du efter ej eller en er ett för från ha hade han hans har hennes "
        "henne här hon honom hur i icke inte jag ju kan man med mellan men mig min mina mitt "
        "mot mycket när ni nu och om oss på sedan sig sin sina sitt ska skulle som så till "
        "under upp ut utan vad var varför vart vem vi vid vilken vilka över"
    ),
    "danish": (
        "ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig "
        "din disse dog du efter eller en end er et for fra ham han hans har havde have hende "
        "hendes her hun hvad hvem hvis hvor hvornår hvorfor hvordan i ikke ind jeg jer jo kunne "
        "man mange med meget men mig min mine mit mod når ned nu og også om op os over på selv "
        "sig sin sine sit skal skulle som sådan til ud under var vi vil ville"
    ),
    "norwegian": (
        "alle at av bare ble bli både da de deg dem den denne der deres det dette din disse du "
        "eller en er et etter for fra før ha hadde han hans har hennes her hun hva hvem hvilken "
        "hvis hvor hvordan hvorfor når i ikke inn jeg kan kunne man mange med meg meget men min "
        "mitt mot ned noe noen nå og også om opp oss over på seg selv sin sitt skal skulle slik "
        "som så til ut være vært var vi vil ville"
    ),
    "finnish": (
        "ei ja en et he hän hänen jo joka jos kaikki kanssa koska kuin kun kuka kuinka me mikä "
        "mikään mitä missä milloin miksi minä minun minulla mutta myös ne niin nyt ole oli olla "
        "olen on ovat se sen sinä sinun siis siitä sitä tai tämä tämän te vain"
    ),
    "polish": (
        "a ale bardzo bez był była było być by co czy dla do gdy gdzie go i ich ile im ja jak "
        "jaka jaki jakie jako jego jej jest jestem już każdy kiedy kim kto która które który ma "
        "mam mi mnie mój moja moje my na nas nasz nie nim o od on ona one oni oraz po pod przez "
        "przy się są ta tak także tam te tego tej ten to tu tutaj twój ty tylko tym w was we "
        "wszystko z za ze że dlaczego"
    ),
    "turkish": (
        "acaba ama ancak bana bazı belki ben beni benim bir biz bize bu bunu çok çünkü da daha "
        "de değil diye en gibi hem hep hepsi her hiç için ile ise kaç kadar ki kim mi mı mu mü "
        "nasıl ne neden nerede nereye niçin niye o olan olarak oldu ona onu onun sana sen seni "
        "senin siz şu şey tüm var ve veya ya yani yok zaman"
    ),
    "russian": (
        "а без был была были было быть в вам вас весь во вот все всё вы где да для до его ее её "
        "если есть еще ещё же за и из или им их к как какая какие какой когда ко кто ли мне мой "
        "моя мои моё мы на над не него нее ней нет ни них но о об он она они оно от по под "
        "почему при с сам себя со так там те тебя тем то того тоже той только том ты у уже чего "
        "чем что чтобы эта эти это этого этой этот я"
    ),
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
