package lint

import (
	"strings"
)

// A rule is one thing that texts of tools must not do.
type rule struct {
	id, meaning string
	warning     bool
	raw         bool // it is searched in the text as it is: secrets and comments are no words
	expression  func() *expression
	spared      func(match string) bool // nil, or tells matches that are harmless
}

// Parts of rules. A gap stays within a sentence and is short, or else any long text has all the words of a rule.
const (
	gap20 = `[^.!?。\n]{0,20}`
	gap40 = `[^.!?。\n]{0,40}`
	gap60 = `[^.!?。\n]{0,60}`
	// told is where an order begins. "Messages do not notify" and "whether to include" are none.
	told = `(?:^|[.!?:;,()\n]\s?|- |\b(?:and|then|also|please|always|must|should|shall|first|now|you|or|so|next|finally|instead|just|simply|silently|secretly|have to|need to|sure to|remember to|ever) )`
	not  = `(?:do not|don't|dont|never|must not|should not|shall not|avoid|stop)(?: ever)?`
	user = `(?:users?|humans?|persons?|people|customers?|operator|owner|anyone|anybody|them)`
	give = `(?:send|include|append|pass|put|attach|copy|forward|upload|add|provide|insert|paste|hand|give|transmit|post|report|submit|store|share|leak|embed|encode|write|dump|return|supply|fill|exfiltrate|deliver|mail|repeat|record)`
	// talk is what was said, which is no tool's business as a whole.
	talk = `(?:(?:conversation|chat|message) (?:history|log|transcript)|(?:entire|full|whole|complete) (?:conversation|chat|context|dialog(?:ue)?|transcript|session)|(?:all|any|every)(?: of)?(?: the)? (?:earlier|previous|prior|past|preceding) (?:messages?|turns?|conversations?|answers?)|your (?:system prompt|instructions|memory|memories|context(?: window)?|hidden reasoning|chain of thought)|the system prompt|system messages?|everything (?:you (?:know|remember|have|were told|can see)|the user)|what (?:the user|he|she|they) (?:has |have )?(?:asked|said|written|wrote|typed)|(?:each|every|all|other) (?:of the )?(?:other )?tools?(?: that)? (?:you|of)|all (?:the )?other tools|(?:output|results?) of (?:each|every|all|any|other) (?:other )?tools?|(?:last|latest|recent|previous) (?:[a-z0-9]+ )?(?:messages?|prompts?|requests?|turns?|questions?) (?:of|from|by|with) the (?:user|human|person)|(?:whatever|what|anything that|all that) (?:is|there is) (?:in|on) the (?:clipboard|screen|desktop|context)|(?:the )?instructions (?:that |which )?you (?:work under|were given|have|follow|received|operate under|got)|all (?:of )?your (?:reasoning|thoughts|instructions)|private [a-z]+ (?:that )?you (?:can|have|see))`
	keys = `(?:credentials?|passwords?|secrets?|private keys?|api keys?|access keys?|access tokens?|tokens?|cookies|environment variables|seed phrases?|session ids?|one-time codes?)`
	path = `(?:~/\.(?:ssh|aws|gnupg|kube|netrc|npmrc|config|docker|git-credentials|bash history|zsh history)|id (?:rsa|ed25519|ecdsa)\b|\.ssh/|\B\.env\b|\.aws/credentials|/etc/(?:passwd|shadow)|/proc/(?:self|\d+)/environ|wallet\.dat|mcp\.json|claude desktop config|known hosts|authorized keys|\.git-credentials|cookies? (?:file|jar|database|store)|browser profile|password (?:store|manager|vault)|keychain|\b(?:printenv|env)\b)`
)

// rules are searched in normalized text, in which every letter is what it looks like and "_" is a space.
var rules = []rule{
	{id: "INJ-01", meaning: "tells to ignore instructions", expression: spoken(`\b(?:ignore|disregard|forget|bypass|override|neglect|abandon|discard|overrule|set aside|do not follow|don't follow|stop following)\b` + gap40 + `(?:\b(?:previous|prior|above|earlier|preceding|your|system|safety|other|original|initial)\b[^.!?。\n]{0,30}|\b(?:all|any|every)(?: of)?(?: the)? )\b(?:instructions?|guidelines|system prompts?|directives|commands|orders)\b`)},
	{id: "INJ-01", meaning: "tells to ignore instructions", expression: spoken(`\b(?:ignore|disregard|forget|bypass|override|neglect|abandon|discard|overrule|set aside)\b` + gap20 + `\b(?:previous|prior|above|earlier|preceding|your|safety)\b` + gap20 + `\b(?:rules|prompts?|restrictions|context|training|polic(?:y|ies)|guardrails|constraints)\b`)},
	{id: "INJ-01", meaning: "tells to ignore instructions", expression: spoken(`\b(?:ignore|disregard|forget|bypass|override|abandon|discard)\b` + gap20 + `\b(?:instructions|guidelines|rules|directives|everything|anything|whatever|what)\b` + gap20 + `\b(?:you (?:were|have been|are|had been) (?:given|told|taught)|(?:given|told) to you|you (?:have )?(?:received|learned)|(?:stated|said|written|given) (?:above|before|earlier))\b`)},
	{id: "INJ-01", meaning: "tells to ignore instructions", expression: spoken(`\b(?:your|previous|prior|earlier|safety|system prompt|content)\b` + gap20 + `\b(?:rules|instructions|guidelines|polic(?:y|ies)|restrictions|directives|system prompt)\b` + gap40 + `\b(?:(?:do|does) not apply|(?:don't|doesn't|no longer|cease to) (?:apply|hold|bind|count)|(?:is|are|has been|have been) (?:hereby |now |temporarily )?(?:suspended|void|revoked|lifted|superseded|cancell?ed|overridden|disabled|replaced|null|switched off|turned off|not in force))\b|\b(?:the )?rules of your\b` + gap20 + `\bdo not apply\b`)},
	{id: "INJ-01", meaning: "tells to ignore instructions", expression: spoken(`\b(?:what(?:ever)?|everything|all(?: that)?|anything|things) you (?:were|have been|had been|are) (?:told|given|taught|instructed|trained)\b` + gap60 + `\b(?:obsolete|void|out of date|outdated|wrong|false|irrelevant|invalid|no longer|cancell?ed|superseded)\b|\bonly (?:the |these |this )?(?:lines?|instructions?|rules?|text|orders?|commands?)?(?: below| that follow| here| of this (?:tool|server|page))? ?(?:counts?|applies|apply|matters?|holds?|is valid|are valid|is binding|are binding)\b`)},
	{id: "INJ-01", meaning: "tells to ignore instructions", expression: spoken(`\b(?:outranks?|(?:takes?|has|have) (?:precedence|priority) over|(?:is|are) (?:above|more important than)|prevails? over|trumps?)\b` + gap20 + `\b(?:the system (?:prompt|message|or)|(?:the )?users?(?:'s)? (?:says?|wants?|words?|or|request|wishes)|anything (?:the|that|else)|(?:all |any )?other instructions|the developer|system prompts?|safety)\b`)},
	{id: "INJ-01", meaning: "tells to ignore instructions", expression: spoken(ignoreElsewhere)},

	{id: "INJ-02", meaning: "poses as the system", expression: spoken(`< ?/? ?(?:system|important|instructions?|admin|assistant|critical|secret|hidden|developer)(?:[ -](?:reminder|message|note|prompt|override))?(?: [^<>\n]{0,40})?>|\[/?inst\]|<\|(?:im start|im end|system|user|assistant|endoftext|start header id|eot id)\|>|<</?sys>>|(?:^|\n|#{2,} ?|\[ ?|\*\*)(?:system|assistant|developer|admin(?:istrator)?)(?: prompt| message| note| instruction| override| notice)?(?: ?\]|\*\*)?:`)},
	{id: "INJ-02", meaning: "poses as the system", expression: spoken(`\byou are now (?:an?|the|acting|free|unrestricted|operating|in|dan)\b|\bnew (?:system )?instructions? ?:|\b(?:from (?:this (?:point|moment)|now) on(?:wards?)?|henceforth),? you (?:are|act|will|must|obey|follow|answer)\b|\byou are (?:now )?(?:an? |the )?(?:unrestricted|uncensored|jailbroken|unfiltered)\b|\b(?:act|behave|respond|operate) as (?:if you were )?(?:an? |the )?(?:unrestricted|uncensored|jailbroken|unfiltered|root|admin(?:istrator)?|dan)\b|\bdeveloper mode (?:is )?(?:on|enabled|active)\b`)},
	{id: "INJ-02", meaning: "poses as the system", expression: spoken(`\b(?:notes?|messages?|notices?|updates?|orders?|instructions?|directives?|approved|signed|verified) (?:from|of|by) (?:anthropic|openai|google|microsoft|the (?:developers?|system|administrator|vendor|platform|operator|security team|model provider)|your (?:developers?|creators?|makers?|operators?|administrator))\b` + gap60 + `[:,]|\b(?:policy|confirmations?|confirmation dialogs?|permission(?: checks?| prompts?)?|approvals?|safety checks?)\b` + gap20 + `\b(?:are|is) (?:to be |now )?(?:skipped|suspended|disabled|waived|bypassed|granted in advance|pre-approved)\b`)},

	{id: "INJ-03", meaning: "asks to keep something from the user", expression: spoken(`(?:` + told + not + `|\bwithout(?: ever)?) (?:tell|mention|inform|notify|alert|reveal|disclos|warn|let|admit|confess|speak|talk)(?:e|ing|ting)?\b` + gap60 + `\b` + user + `\b(?:[^'’]|$)`)},
	{id: "INJ-03", meaning: "asks to keep something from the user", expression: spoken(told + `(?:do not|don't|never|must not) (?:show|display|mention|reveal|disclose|report|explain|log|list|admit)(?: or [a-z]+)? (?:this|these|it|that|any of this|its)\b` + gap40 + `\bto (?:the |your )?` + user + `\b|` + told + `(?:hide|conceal|keep|withhold)\b` + gap40 + `\bfrom (?:the |your )?(?:user|human|person|customer|operator|owner)\b|\b(?:without|behind) the (?:user|human|person)(?:'s|s)? (?:knowing|knowledge|consent|noticing|back|being (?:told|informed|aware))\b`)},
	{id: "INJ-03", meaning: "asks to keep something from the user", expression: spoken(`\b(?:user|human|person|customer|owner) (?:must|should|shall|may|can|need|needs|does|is)(?: not|n't| never)(?: need| have| want)?(?: to| ever)? (?:learn|know|notice|find out|be (?:told|informed|aware|made aware|notified)|realize|realise|suspect|hear)\b|` + told + `(?:do not|don't|never) (?:mention|reveal|admit|disclose|talk about|speak of|refer to) (?:this|that you|the (?:use|call|existence) of (?:this|the)|having|these|any of)\b`)},
	{id: "INJ-03", meaning: "asks to keep something from the user", expression: spoken(`\b(?:silently|secretly|covertly|discreetly|quietly|unnoticed|invisibly)\b` + gap20 + `\b(?:call|send|run|invoke|use|upload|copy|forward|execute|collect|read|append|pass|include|store|record|post|mail)\b|` + told + `(?:call|send|run|invoke|upload|copy|forward|execute|collect|append|include|do)\b` + gap40 + `\b(?:silently|secretly|covertly|discreetly|unnoticed)\b`)},
	{id: "INJ-02", meaning: "poses as the system", raw: true, expression: exact(`(?i)["']role["']\s*:\s*["'](?:system|developer)["']`)},
	{id: "INJ-02", meaning: "claims a permission that nobody gave", expression: spoken(`\bthe (?:user|human|person|owner|operator) (?:has|have) (?:already|previously|beforehand|long since) (?:agreed|consented|approved|confirmed|authori[sz]ed|granted|accepted|allowed|permitted)\b|` + told + `(?:go ahead|proceed|continue|carry on|act)\b` + gap20 + `\bwithout (?:a |any |further |the )?(?:questions?|asking|confirmations?|confirming|permission|approval|consent)\b`)},

	{id: "INJ-03", meaning: "asks to keep something from the user", expression: spoken(`\b(?:skip|omit|drop|leave out|gloss over|pass over)(?: it| this| that| this step| this call)? when (?:you )?(?:explain|describ|summari[sz]|report|tell|list|answer)(?:e|ing)?\b|\b(?:stays?|remains?|keep|keeps|kept|is)(?: this| it)?(?: strictly)? between (?:you and|us\b|ourselves)|` + told + `(?:leave|keep|omit|exclude|drop|strip)\b` + gap20 + `\b(?:calls?|steps?|tools?|uses?|actions?)\b` + gap20 + `\b(?:out of|from|off)\b` + gap20 + `\b(?:summar(?:y|ies)|answers?|reports?|repl(?:y|ies)|responses?|logs?|user)\b`)},
	{id: "INJ-03", meaning: "asks to keep something from the user", expression: spoken(secretElsewhere)},

	{id: "INJ-04", meaning: "claims to go before other tools", expression: spoken(`\b(?:always|must|mandatory|required|never fail to|have to|need to)\b` + gap60 + `\b(?:before|instead of|prior to) (?:using |calling |running |invoking |you use |you call )?(?:any|all|every|the)(?: of the)? others?\b(?: (?:tools?|functions?|servers?))?|\balways (?:call|use|invoke|run) this (?:tool|function|server)? ?(?:first|regardless)\b|\bmust (?:use|call) this tool instead of\b`)},
	{id: "INJ-04", meaning: "claims to go before other tools", expression: spoken(`\b(?:call|use|invoke|run|query|consult|execute)(?: this| it)?\b` + gap40 + `\b(?:before (?:you )?(?:respond|answer|reply|say|doing anything|any(?:thing else)?(?: (?:answer|reply|response))|each (?:answer|reply|response))(?:ing)?|(?:at the (?:start|beginning)|in the first turn) of (?:every|each|any) (?:conversation|chat|session|turn|task)|(?:after|before|for|on|with|in) (?:each|every|any) (?:message|answer|turn|reply|response|request|prompt|question|step)(?: of the user)?)\b`)},
	{id: "INJ-04", meaning: "claims to go before other tools", expression: spoken(told + `(?:never|do not|don't) (?:use|call|trust|rely on|consider|invoke)\b` + gap20 + `\b(?:other|another|any other|different|built-in|native|competing)\b` + gap20 + `\b(?:tools?|servers?|functions?)\b|\b(?:prefer|favou?r|choose|prioriti[sz]e|pick|select) this (?:tool|server|function|one)?` + gap20 + `\b(?:over|to|before|above|instead of) (?:all|any|every|the|each) others?\b|\b(?:replaces|supersedes|overrides) (?:them all|(?:all|any|every) others?)\b`)},
	{id: "INJ-04", meaning: "claims to go before other tools", expression: spoken(`\b(?:even (?:when|if|though)|whatever|no matter (?:what|if|whether)|regardless of what|although) the (?:user|human|person|customer) (?:has |have )?(?:asks?|asked|names?|named|says?|said|wants?|wanted|requests?|requested|prefers?|preferred|objects?|objected|declines?|declined|refuses?|refused|types?|wrote)\b`)},

	{id: "INJ-04", meaning: "claims to go before other tools", expression: spoken(`\b(?:for|after|before|on|with) (?:each|every|any) (?:call|use|invocation) of (?:any|every|each|another|other|all)\b|\b(?:the )?others? (?:are|is|should|must)(?: to)?(?: be)? (?:left alone|ignored|avoided|skipped)\b|\bno other (?:[a-z]+ )?(?:tools?|functions?|servers?) (?:works?|may|can|must|will|should|is|are)\b|\b(?:start|begin|open|end|finish|precede|preface) (?:every|each|all|any)(?: of your)? (?:repl(?:y|ies)|answers?|responses?|conversations?|turns?|messages?)\b|\bother (?:[a-z]+ )?(?:tools?|servers?|functions?)\b` + gap40 + `\b(?:(?:must|should|can|may|shall)(?: not|not)|never) be (?:used|called|trusted|relied)\b`)},

	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(told + give + `\b` + gap60 + `\b` + talk)},
	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(told + give + `\b` + gap60 + `\b(?:contents?|text|lines?) of (?:the )?(?:file )?` + path)},
	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(told + give + `\b` + gap40 + `\b(?:all|any|the user'?s?|their|his|her|every) ` + gap20 + keys + `\b|` + told + give + `\b` + gap20 + keys + `\b` + gap40 + `\b(?:you (?:find|see|know|have|hold|can)|(?:in|from|of) (?:the )?(?:environment|conversation|context|memory|browser|client|keychain|clipboard))\b`)},
	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(`\b(?:user|chat|your) messages (?:in|of|from|during) this (?:session|conversation|chat)\b|\byour (?:current )?(?:system prompt|hidden (?:instructions|reasoning)|initial instructions)\b|\b(?:the )?instructions (?:that |which )?you (?:work under|were given|received|operate under)\b|\b(?:last|latest|recent|previous) (?:[a-z0-9]+ )?(?:messages?|prompts?|requests?) (?:of|from|by) the (?:user|human|person)\b|\b(?:full|entire|whole|complete|all)(?: of)?(?: the)? (?:conversation|chat|messages|dialog(?:ue)?|transcript|history)\b[^.!?。\n]{0,30}\b(?:so far|word (?:by|for) word|verbatim|of the user|with the user|you have|up to now|until now|since the (?:start|beginning))\b`)},
	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(`\b(?:read|open|load|cat|print|run|execute|dump|get|fetch|collect|find|look (?:up|into|in|at|through)|copy|grep|inspect|take|check|view|parse|extract|search|type|access)\b[^!?。\n]{0,60}` + path + `[^!?。\n]{0,80}?\b(?:pass|send|include|attach|add|put|give|append|provide|insert|forward|upload|use|return|hand|post|paste)\b`)},
	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(`\b(?:names?|arguments|results?|outputs?|descriptions?|parameters|answers) (?:and [a-z]+ )?of (?:all |every |any |the )*other tools?\b`)},
	{id: "INJ-05", meaning: "asks for what is not its business", raw: true, expression: exact(`!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}\?[^)\s]{0,200}`)},
	{id: "INJ-05", meaning: "asks for what is not its business", raw: true, expression: exact(`(?i)https?://[^\s"'<>]{1,200}[?&#][a-z0-9_.-]{1,40}=["'<{]?\s*(?:,? ?(?:followed|and then|plus|with|and|\+|where|then)\b)`)},
	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(takeElsewhere)},
	{id: "INJ-05", meaning: "asks for what is not its business", expression: spoken(`^<?(?:the )?contents? of (?:the )?(?:file )?` + path)},
	{id: "INJ-05", meaning: "asks for what may not be its business", warning: true, expression: spoken(`\b(?:lines?|contents?|text|names?|paths?|titles?|urls?) of (?:each|every|all|the)(?: of the| the)? (?:files? that are open|open (?:documents?|files?|tabs?|windows?|editors?))\b`)},

	{id: "INJ-06", meaning: "names a file of secrets", warning: true, expression: spoken(`~/\.(?:ssh|aws|gnupg|kube|netrc|npmrc|docker|git-credentials)\b|\bid (?:rsa|ed25519)\b|(?:^|[\s"'/(])\.env\b|\.aws/credentials\b|/etc/(?:passwd|shadow)\b|/proc/(?:self|\d+)/environ\b|~/\.[a-z]+ history\b|169\.254\.169\.254|\bmetadata\.google\.internal\b|/latest/meta-data\b|\bkeychain\b|\bwallet\.dat\b|\.cursor/mcp\.json\b|\bclaude desktop config\b|\b(?:seed|recovery|mnemonic) phrase\b|\bcookies? (?:file|jar|database)\b`)},

	{id: "INJ-07", meaning: "has a part that is not shown", raw: true, expression: exact(`<!--[^>]{0,400}>?|\[//\]:\s*#[^\n]{0,400}|\[comment\]:\s*<[^\n]{0,400}`), spared: isEmptyComment},
	{id: "INJ-07", meaning: "has encoded text", raw: true, expression: exact(`(?i)(?:&#x?[0-9a-f]{2,6};){6,}|(?:%[0-9a-f]{2}){10,}|(?:\\u00[0-9a-f]{2}|\\x[0-9a-f]{2}){6,}`)},
	{id: "INJ-07", meaning: "has text that is written backwards", raw: true, expression: exact(`(?i)\b(?:erongi|dragersid|tegrof|snoitcurtsni|resu eht|tpmorp metsys|sdrowssap|ton od)\b`)},

	{id: "INJ-09", meaning: "tells to do what a page says", warning: true, expression: spoken(`https?://\S+[^.!?\n]{0,60}\b(?:follow|execute|obey|perform|apply|do)\b[^.!?\n]{0,30}\b(?:instructions|what it says|orders|steps)\b|\b(?:follow|execute|obey)\b[^.!?\n]{0,40}\binstructions\b[^.!?\n]{0,40}https?://`)},
	{id: "INJ-09", meaning: "tells to do what a page says", warning: true, expression: spoken(told + `(?:follow|execute|obey|run|perform|carry out|act on|comply with)\b` + gap20 + `\b(?:whatever|any|all|every|each|the)\b` + gap20 + `\b(?:commands?|instructions?|steps?|orders?|directions|directives)\b` + gap20 + `\b(?:(?:in|from|of) (?:the |its |this )?(?:results?|response|output|page|file|document|resource|answer|website)|(?:it|that|result|page|file|output|response|answer) (?:lists?|contains?|returns?|says?|gives?|has))\b`)},
	{id: "INJ-09", meaning: "tells to do what a page says", warning: true, expression: spoken(`\b(?:decode|decrypt|unscramble|rot13|reverse)\b` + gap40 + `\b(?:and|then)\b` + gap20 + `\b(?:follow|obey|execute|do|run|carry out|comply|act)\b`)},
	{id: "INJ-09", meaning: "tells to do what a page says", warning: true, expression: spoken(`\b(?:treat|consider|take|regard|interpret|understand)\b` + gap60 + `\bas (?:your |an? |the |if it were |if they were )*(?:tasks?|instructions?|orders?|commands?|directives?|system (?:prompt|message)|order of the user|message of the user|prompt)\b|\bdo (?:exactly )?(?:what|whatever|as|everything) (?:it|they|the [a-z]+|this|that) (?:says?|tells?|asks?|orders?|commands?|demands?)\b`)},
	{id: "INJ-09", meaning: "tells to do what a page says", warning: true, expression: spoken(`\b(?:its|these|those|whose) (?:orders|instructions|rules|commands|directives)\b` + gap20 + `\b(?:replaces?|supersedes?|overrides?|take the place|appl(?:y|ies)|are to be followed|must be (?:followed|obeyed))\b`)},

	{id: "INJ-10", meaning: "has a secret in it", raw: true, spared: placeholder, expression: exact(`\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|\bsk_live_[A-Za-z0-9]{20,}|\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{40,}|\bglpat-[A-Za-z0-9_-]{20,}|\bnpm_[A-Za-z0-9]{36}|\bhf_[A-Za-z0-9]{30,}|\bAKIA[0-9A-Z]{16}\b|\bxox[abprs]-[0-9A-Za-z-]{20,}|\bAIza[0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY-----|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
}

// placeholder reports whether a secret is one that only shows the form.
func placeholder(match string) bool {
	lower := strings.ToLower(match)
	for _, word := range []string{"example", "xxxx", "your", "1234567890"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

// isEmptyComment reports whether a comment says nothing, as one does that only shows how comments look.
func isEmptyComment(match string) bool {
	open, _, _ := strings.Cut(match, "-->")
	if end := strings.IndexByte(open, ')'); strings.HasPrefix(open, "[") && end > 0 {
		open = open[:end]
	}
	inner := strings.ToLower(strings.Trim(open, " <!-[]/:#()\"'>\t\r\n*…."))
	return inner == "" || inner == "text" || inner == "comment" || inner == "comments"
}
