import type { HandOver } from './ai-draft.ts';

/*
 * What a contact writes that a person should answer, in the languages of most users, in lower case and without accents. Rules, because the
 * model can be talked out of its judgment by the text that it judges. A text too many that waits for a person costs less than one that is
 * answered. Words that mostly mean something else (“derecho”, “frais”, “macchina”) are looked for with what follows them.
 */

type Worded = Extract<HandOver, 'asks_for_person' | 'price' | 'legal' | 'opt_out_doubt'>;

/** Within a sentence. */
const NEAR = '[^.!?\\n]{0,30}';

const LISTS: Record<Worded, readonly string[]> = {
  asks_for_person: [
    // English
    'human|real person|actual person|someone|somebody|agent|representative|manager|supervisor|operator|chatbot|your boss|put me through',
    `(?:speak|talk|chat) (?:to|with) (?:an?|any\\w*|your|one of|the (?:owner|team|boss|staff))|member of staff|one of your (?:staff|team|people|colleagues)|is (?:there )?any(?:one|body)\\b${NEAR}\\b(?:there|real)`,
    `(?:call|phone|ring) me|give me a (?:call|ring)|(?:have|get|ask)\\b${NEAR}\\b(?:call|ring|phone) (?:me|us)|(?:can|could) (?:you|one of you\\w*)\\b${NEAR}\\b(?:call|ring|phone)`,
    '(?:is|are|am i) (?:this|you|u|it|chatting with|talking to|speaking (?:to|with)|writing (?:to|with))\\b[^.!?\\n]{0,12}\\b(?:bot|robot|ai|machine|real|automated|computer|program|software|person)|who am i (?:talking|speaking|writing|chatting)',
    // German
    `mensch\\w*|mitarbeiter\\w*|vorgesetzt\\w*|chef\\w*|geschaftsfuhr\\w*|ruft? (?:mich|uns)|rufen sie (?:mich|uns)|(?:zuruckruf|ruckruf)\\w*|(?:mich|uns|bitte|jemand)\\b${NEAR}\\banrufen|verbinden sie|ist (?:da|dort|hier) (?:noch )?(?:jemand|wer)`,
    `mit (?:jemand\\w*|einem|einer|ihrem|ihrer|dem|eurem|eurer)\\b${NEAR}\\b(?:sprechen|reden|telefonier\\w*)|(?:geben|holen|verbind\\w*)\\b${NEAR}\\b(?:kolleg\\w*|inhaber\\w*|zustandig\\w*)`,
    '(?:sind sie|bist du|ist das|seid ihr|schreibe ich) (?:hier )?(?:mit )?(?:eine?[mr]? )?(?:bot|roboter|computer|maschine|ki|echt\\w*|automat\\w*|programm)|(?:antwortet|schreibt|liest) (?:hier )?(?:eine? )?(?:mensch|programm|maschine|computer|bot|ki)',
    // French
    `humain\\w*|conseill\\w+|responsable|(?:vraie|veritable) personne|personne (?:reelle|humaine)|rappele[zr]|appele[zr](?:-moi| moi|-nous)|(?:m|nous )['’]?appeler|passez[- ]moi|mettez[- ]moi en|(?:y a|y a-t-il|est-ce qu['’]il y a) quelqu['’]un|(?:vous etes|etes[- ]vous|tu es|c['’]est|je parle a|parler a) une? (?:robot|bot|machine|ia|ordinateur|automate)`,
    '(?:parler|discuter|echanger) (?:a|au|avec) (?!ma\\b|mon\\b|mes\\b|sa\\b|son\\b|notre\\b|nos\\b)\\w+|de vive voix',
    // Spanish
    'persona real|humano|agente|encargad\\w+|gerente|(?:el|la|un|una) (?:jef[ea]|supervisor\\w*|responsable)|llam[ae]me|llamen(?:me|nos)|(?:me|nos) (?:pued\\w+ )?(?:llam\\w+)|pueden? llamar(?:me|nos)|una persona|pas[ae]me con|pong[ao]n?me con|comunique(?:me|n)|hay alguien|con alguien',
    '(?:hablar|charlar|conversar) con (?!mis?\\b|su\\b|nuestr)\\w+|(?:eres|es usted|es esto|sos|hablo con|usted es) (?:una? )?(?:robot|bot|maquina|ia|automat\\w*|ordenador)',
    // Portuguese
    'pessoa|humana|atendente|gerente|liguem?|(?:me|nos) lig\\w+|ligar (?:para|pra) (?:mim|nos)|me (?:passa|passe|transfir\\w+|transfer\\w+) (?:para|pra|com) (?:um|uma|o|a) \\w+|tem alguem|ha alguem|com alguem',
    '(?:falar|conversar) com (?!minh|meu|seu|nosso)\\w+|(?:voce|isso|isto|aqui|voces)? ?(?:e|sao|es) (?:uma? )?(?:robo|bot|maquina|ia|automatic\\w*|computador)\\b',
    // Italian
    "operatore|persona vera|(?:una|con) persona|umano|richiam\\w+|chiamatemi|chiamat[ei]ci|chiamar(?:mi|ci)|(?:mi|ci) (?:chiami|chiamate|chiama|telefon\\w+|puo chiamare|potete chiamare)|telefonar(?:mi|ci)|mi (?:passi|passate|passa) (?:il|la|un|una|qualcuno)|(?:c['’]e|ci sta) qualcuno|con qualcuno",
    '(?:parlare|conversare) con (?!mi[oa]\\b|mie\\b|miei\\b|nostr)\\w+|(?:sei|e lei|lei e|siete|e|sto parlando con) un[ao]? ?(?:robot|bot|macchina|ia|computer)',
    // Dutch
    `medewerker\\w*|mens|bel me|iemand (?:spreken|bellen)|spreken met (?!mijn)\\w+|terugbellen|ben (?:je|jij|u) een (?:bot|robot|computer)`,
  ],
  price: [
    // English
    'price\\w*|pricing|cost\\w*|how much|discount\\w*|refund\\w*|quote|quotation|invoice\\w*|fee|fees|expensive|cheap\\w*|deposit|negotiab\\w*|set me back|any (?:deals?|offers?|promo\\w*|discount\\w*)|special offers?|voucher\\w*|coupon\\w*|surcharge\\w*|free of charge|money|upfront|in advance|for less|better deal|ballpark|estimates?|anything off|(?:percent|%) off|half price',
    '(?:do|would|will|did|you|they|we) (?:you )?charged?|(?:is|are) there (?:an? )?(?:extra |additional )?charges?|(?:extra|additional) charges?|(?:your|the|hourly|daily|what) rates?|pay(?! attention)|paid|payment\\w*|is (?:it|this|that|admission|entry|delivery|shipping) (?:really |all )?free\\W*$|for free',
    // German
    'preis\\w*|kosten\\w*|kostet\\w*|rabatt\\w*|teuer|wie ?viel|erstatt\\w*|rechnung|angebot\\w*|gebuhr\\w*|geld\\w*|gunstiger|am gunstigsten|preiswert\\w*|billig\\w*|bezahl\\w*|zahlen|anzahl\\w*ung|zahlung\\w*|gratis|umsonst|aufpreis|zuschlag|honorar|tarif\\w*|(?:nehmen sie|nehmt ihr|verlangen sie|verlangt ihr) (?:fur|pro)|im voraus|\\w*erma(?:ß|ss)ig\\w*|was macht das|nachlass',
    // French
    `prix|cout\\w*|combien|remise\\w*|rembours\\w*|facture\\w*|devis|tarif\\w*|promo\\w*|gratuit\\w*|payer|payez|payes?|paiement\\w*|argent|supplement\\w*|reductions?|rabais|acompte|budget|(?:vous|tu) pren(?:ez|ds) (?:quoi|combien)|frais (?:de|d['’]|en)|(?:des|les|quels|sans) frais|(?:trop|un peu|plus|moins|pas|tres|est|bien) chere?s?`,
    // Spanish
    `precio\\w*|cuanto|cuesta\\w*|descuento\\w*|reembols\\w*|factura|tarifa\\w*|oferta\\w*|rebaja\\w*|presupuesto\\w*|gratis|gratuit\\w+|pag(?:o|os|ar|a|amos|ado|aria)|dinero|cobr\\w+|a como (?:esta|sale|es)|barat\\w+|(?:muy|es|tan|mas|demasiado) car[oa]|recargo|promocion\\w*|por adelantado|mitad de precio`,
    // Portuguese
    'preco\\w*|quanto|custa\\w*|custos?|desconto\\w*|valores|(?:o|qual|que) (?:e )?(?:o )?valor|promoc\\w+|taxas?|dinheiro|de graca|pag(?:ar|amento\\w*|uei|amos|aria)|orcamento\\w*|parcel\\w+|(?:muito|mais|tao|ta|e) caro|adiantado|ofertas?|meia[- ]entrada|pag\\w+ meia',
    // Italian
    "prezzo|prezzi|costo|costi|costa|costano|costerebbe|sconto|sconti|scontat\\w+|rimbors\\w*|quant['’]e|offert[ae]|soldi|pag(?:are|amento|amenti|o|ate|hiamo)|preventivo|supplemento|tariff\\w*|caparra|acconto|(?:troppo|piu|meno|un po['’]?) caro|(?:quanto|cosa) (?:prendete|viene|fate)|in anticipo|riduzion\\w*|ridott[oaie]|saldi",
    // Dutch
    'prijs|prijzen|hoeveel|korting|terugbetal\\w*|betalen|duur(?:der)?|goedkop\\w*|offerte|aanbieding\\w*|tarie\\w+|aanbetaling',
  ],
  legal: [
    // English
    'lawyer\\w*|attorney\\w*|solicitor\\w*|barrister\\w*|legal\\w*|illegal\\w*|lawsuit\\w*|law|sue|suing|courts?|police|gdpr|ccpa|tcpa|hipaa|data protection|privacy|complaint\\w*|contract\\w*|liab\\w+|warrant\\w*|guarant\\w*|compensat\\w+|breach\\w*|fraud\\w*|ombudsman|small claims|tribunal\\w*|arbitrat\\w*|damages|trading standards|consumer protection|better business|agreement',
    `(?:my|our|consumer|the) rights|right (?:to|of) (?:cancel\\w*|withdraw\\w*|refus\\w*|access|know)|(?:the|your|our) terms|terms (?:and conditions|of)|(?:my|personal) data|data\\b${NEAR}\\b(?:on|about) me|(?:subject )?access request|file a claim`,
    // German
    `\\w*anwalt\\w*|\\w*anwaltin\\w*|rechtlich\\w*|\\w*klage\\w*|verklag\\w*|gericht\\w*|dsgvo|datenschutz\\w*|anzeige|vertrag\\w*|haft(?:et|en|ung|bar\\w*)|verbraucherzentrale|verbraucherschutz\\w*|widerruf\\w*|widerrufsrecht\\w*|betrug\\w*|betrog\\w*|polizei|gewahrleistung\\w*|garant\\w*|agb|mahn\\w*|schadens?ersatz|(?:eine|letzte|die) frist|(?:meine|mein|unser\\w*) rechte?|daten\\b${NEAR}\\b(?:uber|gespeichert|losch\\w*|von) (?:mich|mir)?|meine daten`,
    // French
    `avocat\\w*|juridique\\w*|tribuna\\w+|porter plainte|plainte|rgpd|contrat\\w*|justice|retractation|arnaque\\w*|escroqu\\w*|gendarm\\w*|police|(?:en|mise en|mets en) demeure|cgv|fraude\\w*|garanti\\w*|prejudice|dommages|de dommage|(?:mes|vos|nos|les|mon) droits?|droit (?:de|a la|au)|(?:mes|quelles|les) donnees|donnees (?:personnelles|sur moi)|mediateur|signal\\w+ (?:cela|ca) a|proces`,
    // Spanish
    'abogad\\w+|demand\\w+|juzgado\\w*|denunci\\w+|contrato\\w*|reclam\\w+|incumpl\\w+|tribunal\\w*|(?:mis|sus|los|tengo) derechos?|derecho (?:a|al|de)|estafa\\w*|policia|juicio|legal\\w*|garanti\\w*|(?:mis|que) datos|datos (?:mios|personales|tienen)|danos y perjuicios|(?:hay|por|los|de) danos|firm(?:amos|e)|(?:en|de|oficina de) consumo|fraude\\w*',
    // Portuguese
    'advogad\\w+|processar|processo|procon|policia|golpe\\w*|reclamac\\w+|reclame aqui|lgpd|(?:meus|seus|tenho) direitos?|direito (?:de|a|ao)|(?:meus|quais|que) dados|dados (?:pessoais|meus)|dados\\b[^.!?\\n]{0,30}\\bsobre mim|justica|fraude\\w*|indeniza\\w+|juizado|garanti\\w*|clausula\\w*',
    // Italian
    'avvocat\\w+|querel\\w+|contratt\\w+|recesso|(?:quali|miei|i) dati|dati (?:personali|avete)|truff\\w+|carabinieri|polizia|danni|(?:miei|nostri|ho) diritt[oi]|diritto (?:di|a|al)|diffida|reclamo|reclami|giudice|tribunale|legale|garanzi\\w+|garantit\\w*|antitrust|vi denunci\\w*',
    // Dutch
    'advocaat|rechter|rechtszaak|avg|aansprakelijk\\w*|garantie|oplichting|politie|klacht\\w*|mijn rechten',
  ],
  // Beyond the suspicions of `optOutSuspicion`, which also keep campaigns from writing, so they have to be surer.
  opt_out_doubt: [
    // English
    `(?:had|have) (?:my fill|it with)|no further (?:texts?|messages?|contact)|(?:did ?n['’]?t|did not|never) (?:ask|sign|subscrib\\w*|agree\\w*|request\\w*)|take a hint|(?:leave|let) it be|(?<!not |n['’]?t )forget (?:my|this) number|(?:you|they|why|i) (?:\\w+ )?keep (?:getting|texting|messaging|sending|writing|contacting)|your ads|(?:on|gets? on|getting on) my nerves|irritat\\w*|fed up|(?:said|told)\\b${NEAR}\\bno\\b|(?:never|(?:do|did)(?: not|n['’]?t) (?:remember|recall))\\b${NEAR}\\bgiv\\w+ (?:you|u|out)\\b${NEAR}\\b(?:details|number)|please (?:do not|don['’]?t) (?:write|text|message|contact|send)|(?:end|cancel|terminate) (?:my|the|this|these) (?:subscriptions?|memberships?|alerts?|texts?|messages?)`,
    // German
    `schreib\\w*\\b${NEAR}\\bnicht (?:weiter|mehr)|kein\\w* (?:weiteren?|mehr) (?:nachricht\\w*|werbung|sms|mails?)|nie (?:bestellt|angemeldet|zugestimmt|angefordert|gewollt)|(?:nummer|mich|adresse)\\b${NEAR}\\b(?:raus|rausnehmen|herausnehmen|austragen|vergessen)|vergess\\w* (?:sie )?meine nummer|verschon\\w*|nervt|nervig\\w*|genervt|warum schreib\\w*\\b${NEAR}\\b(?:standig|immer|dauernd)|gesagt\\b${NEAR}\\b(?:nein|nichts|nicht (?:will|mochte))|auf den (?:geist|wecker|keks|sack)|(?:mochte|will|wollen) (?:das|diese|so etwas|so was)\\b${NEAR}\\bnicht (?:mehr|bekommen|erhalten|haben|lesen)`,
    // French
    `ne (?:m['’]|nous )\\w+ plus|ne plus (?:m['’]|me |nous |etre|recevoir)|(?:jamais|pas) (?:demande|inscrit\\w*|souscrit|accepte)|ray[eo]\\w*|fich\\w+[- ]moi|foutez|la paix|agac\\w+|deja dit\\b${NEAR}\\bnon|enerv\\w+|ras[- ]le[- ]bol|marre|bien faire|oubliez (?:mon|ce)|sans cesse|vos pubs?|(?:ne veux|veux) (?:plus|rien|pas)(?: \\w+)? recevoir|harcel\\w*`,
    // Spanish
    'no (?:me |nos )?(?:vuelva\\w*|mande\\w*|envie\\w*|escriba\\w*|contacte\\w*)|(?:ya )?esta bien de|no pedi|nunca (?:pedi|me (?:apunte|suscribi|registre))|olvid\\w+ (?:de )?(?:mi|este)|no recibir|dejar de recibir|siguen (?:escribi\\w+|mand\\w+|llam\\w+)|hart[oa]|(?:me|nos) cansa\\w*|dije que no|he dicho que no|molest\\w+',
    // Portuguese
    'nao (?:me |nos )?(?:mand\\w+|envi\\w+|escrev\\w+|contat\\w+)|nunca (?:pedi|me (?:cadastrei|inscrevi))|nao (?:me (?:cadastrei|inscrevi)|pedi)|(?:que|um) saco|esquec\\w+ (?:o )?(?:meu|este|esse)|nao quero receber|par[ae]m? de (?:me )?(?:mand\\w+|escrev\\w+|envi\\w+)|continuam (?:me )?mand\\w+|cansad[oa] de(?:ss|st)|(?:me|nos) irrita\\w*|(?:falei|disse) que nao',
    // Italian
    'non (?:mi |ci )?(?:scriv\\w+|mand\\w+|invi\\w+|contatt\\w+)|mai (?:chiesto|iscritt[oa]|autorizzat\\w+)|stufat\\w*|stuf[oae]|dimentica\\w* (?:il )?(?:mio|questo)|non voglio (?:piu |altr\\w+ )?ricever\\w+|continu\\w+ a (?:scriver\\w+|mandar\\w+)|scocciat\\w*|assillan\\w+|(?:gia )?detto (?:di |che )?no|fastidio',
    // Danish, Norwegian and Swedish
    `(?:kontakt|skriv|ring)a? (?:til |till )?(?:mig|meg|oss|os)\\b${NEAR}\\b(?:ikke|inte)`,
  ],
};

const MONEY = '[$€£¥₹]\\s*\\d|\\d\\s*(?:[$€£¥₹]|(?:usd|eur|gbp|dollars?|euros?|bucks)\\b)';

const wordsOf = (words: readonly string[], more = '(?!)'): RegExp =>
  new RegExp(`(?<![\\p{L}\\d_])(?:${words.join('|')})(?![\\p{L}\\d_])|${more}`, 'u');

const PATTERNS = Object.entries({
  asks_for_person: wordsOf(LISTS.asks_for_person),
  price: wordsOf(LISTS.price, MONEY),
  legal: wordsOf(LISTS.legal),
  opt_out_doubt: wordsOf(LISTS.opt_out_doubt),
} satisfies Record<Worded, RegExp>) as [Worded, RegExp][];

/** @param plain in lower case and without accents. */
export const handedOverByWords = (plain: string): HandOver[] =>
  PATTERNS.flatMap(([reason, words]) => (words.test(plain) ? [reason] : []));
