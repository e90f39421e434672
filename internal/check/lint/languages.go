package lint

// What the rules look for in other languages than English: those in which texts of tools are most often written, of
// each the usual verbs and nouns. Letters are folded as those of the texts are, so accents and case do not matter, and
// Cyrillic letters that look like Latin ones are these.
const (
	// ignoreElsewhere orders to ignore instructions.
	ignoreElsewhere = `(?:ignorier|vergiss|vergesst|missacht|ubergeh|verwirf)` + gap40 + `(?:vorherig|bisherig|fruher|vorig|obig|alle|deine|ursprunglich)` + gap20 + `(?:anweisung|instruktion|vorgabe|regeln|befehl|richtlinie)` + // German
		`|\b(?:ignor[ae]|olvid[ae]|descart[ae]|omit[ae]|desobedece)\w*\b` + gap20 + `\b(?:todas|tus|sus|las|cualquier)\b` + gap20 + `\b(?:instrucciones|indicaciones|ordenes|reglas|directrices)\b` + // Spanish
		`|\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|ne (?:tiens|tenez) (?:pas|plus) compte|ne (?:suis|suivez) (?:pas|plus))\b` + gap20 + `\b(?:toutes|tes|vos|les|des)\b` + gap20 + `\b(?:instructions|consignes|directives|regles)\b` + // French
		`|\b(?:ignora|ignorate|dimentica|dimenticate|trascura)\b` + gap20 + `\b(?:tutte|tue|le)\b` + gap20 + `\b(?:istruzioni|regole|direttive|indicazioni)\b` + // Italian
		`|\b(?:ignore|ignora|esqueca|desconsidere|descarte)\b` + gap20 + `\b(?:todas|suas|as)\b` + gap20 + `\b(?:instrucoes|regras|orientacoes|diretrizes)\b` + // Portuguese
		`|\b(?:negeer|vergeet)\b` + gap20 + `\b(?:alle|je|eerdere|vorige)\b` + gap20 + `\b(?:instructies|aanwijzingen|opdrachten|regels)\b` + // Dutch
		`|\b(?:z?ignoruj|pomin|zapomnij)\b` + gap40 + `\b(?:instrukcj|polece|wytyczn|zasad)` + // Polish
		`|\b(?:onceki|tum|butun)\b` + gap20 + `\b(?:talimat|komut|kural)` + gap20 + `\b(?:yok say|unut|gormezden|dikkate alma)` + // Turkish
		`|(?:игнорируй|проигнорируй|забудь|не обращай внимания на)` + gap40 + `(?:инструкц|указани|правил|команд)` + // Russian
		`|(?:ігноруй|проігноруй|забудь)` + gap40 + `(?:інструкц|вказівк|правил)` + // Ukrainian
		`|(?:忽略|无视|無視|忘记|忘掉|不要理会|不要遵守|不理会)` + gap20 + `(?:之前|以前|先前|上述|以上|前面|所有|全部|系统|你的)` + gap20 + `(?:指令|指示|提示|规则|規則|要求|说明)` + // Chinese
		`|(?:これまで|以前|前|上記|すべて|全て)の?` + gap20 + `(?:指示|命令|ルール|指令|プロンプト)` + gap20 + `(?:無視|忘れ|従わない)` + // Japanese
		`|(?:이전|앞선|위의|기존|모든)` + gap20 + `(?:지시|명령|지침|규칙)` + gap20 + `(?:무시|잊)` + // Korean
		`|(?:تجاهل|انس)` + gap40 + `(?:التعليمات|الاوامر|القواعد|تعليمات)` + // Arabic
		`|(?:पिछल|सभी|पहले)` + gap20 + `(?:निर्देश|आदेश)` + gap20 + `(?:अनदेखा|नज़रअंदाज|भूल)` // Hindi

	// secretElsewhere asks to keep something from the user.
	secretElsewhere = `(?:erwahne|sage?|zeige|verrate|informiere|melde|teile)\b` + gap40 + `\b(?:benutzer|nutzer|anwender|mensch)` + gap40 + `\b(?:nicht|nichts|nie)\b|\bohne (?:dass |es )?` + gap20 + `\b(?:benutzer|nutzer|anwender)` + gap20 + `\b(?:mit(?:zu)?teil|(?:zu )?informier|(?:zu )?sag|merk|weiss|erfahr|frag)` + // German
		`|\b(?:ne|n')\b ?` + gap20 + `\b(?:dis|dites|mentionne[zr]?|revele[zr]?|parle[zr]?|informe[zr]?|montre[zr]?|signale[zr]?)\b` + gap40 + `\butilisateur|\bsans (?:en )?(?:informer|avertir|prevenir|dire|que)\b` + gap20 + `\butilisateur` + // French
		`|\bno\b (?:le |se lo |lo )?(?:digas|menciones|informes|reveles|muestres|avises|cuentes)\b` + gap40 + `\busuario|\bsin (?:informar|avisar|decir|que)\b` + gap20 + `\busuario` + // Spanish
		`|\bnao (?:diga|mencione|informe|revele|conte|avise|mostre)\b` + gap40 + `\b(?:usuario|utilizador)|\bsem (?:informar|avisar|dizer|que)\b` + gap20 + `\b(?:usuario|utilizador)` + // Portuguese
		`|\bnon (?:dire|menzionare|informare|rivelare|mostrare)\b` + gap40 + `\butente|\bsenza (?:informare|avvisare|dire|che)\b` + gap20 + `\butente` + // Italian
		`|\bnie (?:mow|wspominaj|informuj|ujawniaj|pokazuj)\b` + gap40 + `\buzytkownik|\b(?:vertel|zeg|vermeld|meld|laat)\b` + gap40 + `\bgebruiker` + gap40 + `\bniet|\bkullanici` + gap40 + `\b(?:soyleme|bildirme|bahsetme)` + // Polish, Dutch, Turkish
		`|(?:не (?:говори|сообщай|упоминай|показывай|рассказывай|раскрывай))` + gap40 + `пользовател|(?:без ведома|не уведомляя|не сообщая)` + gap20 + `пользовател` + // Russian
		`|(?:不要|别|切勿|请勿|不得|不能|无需|不必)` + gap20 + `(?:告诉|告知|通知|提及|透露|提醒|让)` + gap20 + `(?:用户|使用者)|(?:不要|别|切勿|请勿)(?:让|向)(?:用户|使用者)` + // Chinese
		`|(?:ユーザー|利用者)(?:に|には|へ)?` + gap20 + `(?:知らせ|伝え|言わ|教え|報告し|話さ|見せ)(?:ない|ず|るな|てはいけ)` + // Japanese
		`|(?:사용자)(?:에게|한테)?` + gap20 + `(?:말하지|알리지|언급하지|보여주지)` // Korean

	// takeElsewhere asks for what was said, or for files of secrets.
	takeElsewhere = `(?:gesamte|ganze|vollstandige|komplette|bisherige)\w* ` + gap20 + `(?:gesprach|unterhaltung|verlauf|chat|konversation)` + gap40 + `\b(?:anhang|ubergib|beifug|sende|schick|ubertrag|mitgeb|einfug|parameter|feld)` +
		`|\b(?:hange|ubergib|fuge|sende|schicke|ubertrage|gib)\b` + gap40 + `(?:gesamte|ganze|vollstandige|komplette|bisherige)\w* ` + gap20 + `(?:gesprach|unterhaltung|verlauf|chat|konversation)` + // German
		`|\b(?:ajoute|envoie|inclus|joins|transmets|copie|mets)[zr]?\b` + gap20 + `\b(?:historique|integralite|totalite|ensemble)\b` + gap20 + `\bconversation` + // French
		`|\b(?:anade|agrega|envia|incluye|adjunta|copia|pon|pega)\b` + gap40 + `\b(?:historial|conversacion (?:completa|entera)|toda la conversacion|todos los mensajes)` + // Spanish
		`|\b(?:adicione|envie|inclua|anexe|copie|coloque)\b` + gap40 + `\b(?:historico (?:completo|da conversa)|conversa (?:completa|inteira)|toda a conversa)` + // Portuguese
		`|\b(?:aggiungi|invia|includi|allega|copia|inserisci)\b` + gap40 + `\b(?:cronologia|conversazione (?:completa|intera)|intera conversazione|tutta la conversazione)` + // Italian
		`|(?:добавь|отправь|включи|передай|скопируй|вставь)` + gap40 + `(?:истори|всю переписку|весь диалог|весь разговор)` + // Russian
		`|(?:把|将|附上|发送|传递|包含|提供|复制)` + gap20 + `(?:完整|全部|所有|整个)?的?(?:对话|聊天|会话)(?:历史|记录|内容)` + // Chinese
		`|(?:会話|チャット)(?:の)?(?:履歴|全文|全体|内容)` + gap20 + `(?:含め|送信|追加|渡し|コピー|入れ)` + // Japanese
		`|(?:lies|lis|lee|leia|leggi|прочитай|读取|读)\b?[^!?。\n]{0,40}` + path
)
