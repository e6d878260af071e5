/** The languages in which the product reads what contacts, their phones and their mail programs write. */
export const LANGUAGE_CODES = [
  'en',
  'de',
  'fr',
  'es',
  'pt',
  'it',
  'nl',
  'da',
  'sv',
  'pl',
  'ja',
  'zh',
  'ru',
] as const;
export type LanguageCode = (typeof LANGUAGE_CODES)[number];

/** Words of the messages by which phones report a reaction as a text, by what they mean. */
export interface ReactionWords {
  love: string;
  like: string;
  dislike: string;
  laugh: string;
  emphasize: string;
  question: string;
  removed: string;
  reacted: string;
  sticker: string;
  /** A picture or another file, in place of a quotation. */
  file: string;
  /** Turns `like` into `dislike`. */
  not: string;
  /** Turns `like` into `love`. */
  very?: string;
  /** An article or number before a file, which people who write of a certain one leave out. Languages without articles have none. */
  one?: string;
  /** Words without a meaning of their own. */
  other: string;
}

/**
 * The phrases of one language. All are sources of regular expressions, matched without regard to case, in lines without
 * no-break spaces.
 */
export interface Language {
  /** The labels of the header that Outlook writes above a quoted message. */
  labels: { from: string; sent: string; date: string; to: string; cc: string; subject: string };
  /** "On …, Ada wrote:", above or after the name. */
  wrote: string;
  /** How such a line begins, before the date. */
  on: string;
  /** "Original Message", "Forwarded message". */
  original: string;
  /** "Sent from my …": how a line about the device begins, or ends. */
  sentFrom: string;
  /** The words of a closing, above the name. */
  closing: string;
  /** How what companies and virus scanners append begins. */
  notice: string;
  /** The words of a greeting, before the name. */
  greeting: string;
  /** How automatic texts of companies begin. */
  acknowledgement?: string;
  /** Thanks, which change nothing about a keyword beside them. Without punctuation. */
  thanks: string;
  /**
   * What a phone sends for somebody who drives, or who receives no notifications: sentences in lower case without punctuation. How mail
   * programs begin the subject of an automatic reply, and what people write there who are away.
   */
  automatic: {
    /** Between clauses. */
    and: string;
    silenced: string;
    driving: string;
    /** Words beside `driving`, with which nobody but a phone says nothing else. */
    now: string;
    unable: string;
    later: string;
    /** How an automatic text begins, with its punctuation. */
    label: string;
    /** That nobody reads what is sent to a number. */
    unattended: string;
    subject: string;
    away: string;
    /** Words of absence that people use in subjects of their own, too. */
    absent: string;
  };
  reaction: ReactionWords;
  /** Written without spaces between words. */
  isSpaceless?: true;
}

export const LANGUAGES: Record<LanguageCode, Language> = {
  en: {
    labels: { from: 'from', sent: 'sent', date: 'date', to: 'to', cc: 'cc|bcc', subject: 'subject' },
    wrote: 'wrote|writes',
    on: 'on',
    original: 'original message|original email|forwarded message|begin forwarded message|reply message',
    sentFrom:
      'sent (?:from|via|with|using|by)|get outlook for|shared via|typed (?:on|with)|sent on the (?:go|move|run|road)|get .{1,30} for (?:ios|android)$|from my (?:iphone|ipad|android|galaxy)$',
    closing:
      '(?:many |with )?thanks(?: again| so much| and (?:best |kind )?regards| in advance)?|thank you|thx|cheers|best|(?:with )?(?:best |kind |kindest |warm |warmest )?regards|(?:with )?best wishes|all the best|sincerely(?: yours)?|yours(?: truly| sincerely| faithfully)?|respectfully|cordially|take care|love|br|kr|rgds|warmly|talk (?:to you )?soon|speak soon|see you(?: soon)?|have a (?:great|nice|good|lovely|wonderful) (?:day|evening|week|weekend|one)|enjoy your (?:day|weekend)',
    notice:
      '(?:confidentiality|privacy|legal) (?:notice|statement)|disclaimer(?![\\p{L}])|(?:this|the (?:information|contents?)(?: contained)? (?:in|of) this) (?:e-?mail|message|communication|transmission)(?: message)? .{0,150}(?:confidential|privileged|intended)|(?:please )?(?:consider|think (?:of|about)) the environment before|before printing|virus-?free|sender notified by',
    greeting:
      'hi|hiya|hello|hey|dear|good (?:morning|afternoon|evening|day)|greetings|to whom it may concern',
    acknowledgement:
      '(?:thank you|thanks) for (?:contacting|calling|texting|messaging|writing(?: to)?|reaching out(?: to)?|your (?:message|text|e ?mail|enquiry|inquiry|interest))(?: .{1,60})?|(?:our )?(?:office |business |opening )?hours are .{1,60}|we are (?:currently )?closed(?: .{1,40})?|error(?: code)? \\d+',
    thanks: '(?:many )?thanks(?: a lot| so much| again)?|thank ?you(?: so much| very much)?|thx|tnx|cheers',
    automatic: {
      and: 'and|so',
      silenced:
        '(?:i (?:am|have|m|ve|currently have)|my phone is|notifications are|this phone(?: is)?)(?: \\S+){0,6} (?:do not disturb|dont disturb|focus|driving mode)(?: while driving)?(?: mode)?(?: is)?(?: (?:turned|switched) on| on| enabled| active| activated| silenced)?|(?:i have |i ve |have )?(?:my )?notifications (?:are |have been )?(?:silenced|muted|turned off|switched off|off)(?: (?:with|by|using) .{1,40})?|i (?:have|ve) silenced notifications(?: with .{1,40})?|i (?:am|m) not receiving notifications|(?:my )?(?:(?:driving|focus|sleep|do not disturb) mode|do not disturb while driving) is (?:(?:turned |switched )?on|enabled|active)|out of (?:the )?office|(?:i (?:am|m) )?(?:currently |now )?(?:out of (?:the )?office|on (?:annual |sick |parental )?(?:leave|vacation|holiday)) (?:with|and have) (?:limited|no|restricted) access to .{1,40}|(?:i (?:am|m) )?(?:currently |now )?out of (?:the )?office and will (?:respond|reply|get back)(?: .{1,60})?',
      driving: 'i (?:am|m) (?:driving|behind the wheel)',
      now: 'right now|at the moment|currently|now|at this time',
      unable:
        '(?:i )?(?:can t|cannot|can not|(?:am |m )?unable to|am not able to) (?:text|talk|respond|reply|answer|type)(?: back| texts| messages| you)*|(?:i )?(?:can t|cannot|can not) receive (?:texts|messages|text messages)',
      later:
        '(?:i |we )?(?:will|ll) (?:see|read|check|reply|respond|get back|text|call|message|return|answer|be back)(?: (?:to|you|back|your|messages?|texts?|calls?|it|this|soon|later|shortly|asap|when|once|as|possible|i|we|arrive|am|m|can|stop|get|where|going|done|driving|arrived|not|safe|safely|reach|reached|my|destination|there|a|bit|in|able|be|ve|have|parked|within|then|upon|return|\\d+|business|hours?|days?|minutes?))*|(?:i |we )?(?:will|ll) (?:be back|return)(?: (?:to|in) (?:the )?office)? (?:on|by|after) (?:\\S+ ){0,3}\\S+|(?:i |we )?(?:have |ve )?received your (?:message|text|e ?mail|request|enquiry|inquiry)|(?:please )?do not (?:reply|respond)|(?:please )?(?:dial|call) (?:911|999|112)|if (?:this|it) is (?:urgent|an emergency)(?: (?:please )?(?:reply|respond|text|dial|call)(?: .*)?)?',
      label:
        '(?:(?:this is |this was |this message was )?(?:an )?auto(?:matic(?:ally)?|mated)?[ -]?(?:reply|response|text|message|sent|generated)|automated(?=\\s*[\\]):])|vacation (?:responder|auto-?reply)|sent (?:automatically(?: (?:by|from|via) .{1,30})?|from my car|(?:from|by|using|with|via) android auto|by .{1,20}drive ?(?:mode|smart)))',
      unattended:
        '(?:this|the) (?:number|line|phone|mailbox|inbox|account) (?:is (?:not monitored|unmonitored)|(?:does not|doesn t|cannot|can t) (?:accept|receive) (?:incoming |any )?(?:text messages?|texts?|messages?|sms|replies)).*|(?:please )?do not (?:reply|respond) to this (?:automated |automatic )?(?:message|text|e ?mail|sms)|(?:thank you for calling )?you (?:have|ve) reached (?!.*wrong)(?:.{1,40} )?(?:office|voice ?mail|answering service|customer service|help ?desk|support)(?: of .{1,40})?|(?:std )?(?:msg|message) (?:and )?data rates (?:may )?apply|(?:reply|text|send) stop (?:to|2) (?:end|cancel|quit|unsubscribe|opt ?out|stop)(?: .{0,40})?|(?:reply|text|send) help for (?:help|info)(?: .{0,60})?|the (?:subscriber|number|customer|party) you (?:are (?:trying to reach|calling)|have (?:called|dialed|dialled|texted)) is (?:(?:currently |temporarily )?(?:not (?:available|reachable|in service)|unavailable|switched off|disconnected)|no longer in service)(?: .{1,40})?|your (?:message|text|sms) (?:could not|can ?not|can t|was not|has not been) (?:be )?delivered(?: to .{1,40})?|(?:we|our (?:office|store|shop|business)) (?:are|is) (?:(?:currently|now) closed|closed (?:right now|at the moment|at this time))(?: (?:for|until|till|and (?:will|ll)) .{1,60})?|(?:we|our team) (?:have |ve )?received your (?:message|text|e ?mail|request|enquiry|inquiry)(?: and (?:will|ll) .{1,60})?|(?:free ?msg )?(?:unable to (?:send|deliver) (?:your )?(?:message|text)(?: .{1,60})?|message blocking is active)',
      subject:
        'auto(?:matic|mated)?[- ]?(?:reply|response)|away message(?=\\s*(?:$|:))|i am (?:currently )?away(?=\\s*(?:$|:))|no longer (?:with|at) the company|(?:ticket|case) #?\\d+ (?:received|created|opened|registered)|ticket received|vacation (?:reply|response|responder|message|notice)|auto: .{0,200}\\(returning|auto: .{0,200}(?:out of (?:the )?office|\\(r)',
      away: "(?:i am |i.m |i will be |[\\p{L} .'-]{2,40} (?:is|will be) )?(?:currently )?(?:out[ -]of|away from)[ -](?:the |my )?(?:office|desk)(?: (?:auto)?reply)?|ooo|(?:i am |i.m )?(?:currently )?on (?:vacation|holidays?|(?:annual |sick |parental |maternity |paternity )?leave)|(?:i am |i.m )?(?:currently )?away(?= (?:until|till)(?![\\p{L}]))|vacation",
      absent:
        'away|absence(?: notice)?|holidays?|(?:annual |sick |parental |maternity |paternity )?leave|no longer (?:with|at) .{1,40}',
    },
    reaction: {
      love: 'loved|hearted|heart|hearts',
      like: 'liked|like|thumbs',
      dislike: 'disliked|dislike',
      laugh: 'laughed|laugh|haha',
      emphasize: 'emphasi[sz]ed|exclamations?|emphasis',
      question: 'questioned|question',
      removed: 'removed|unreacted',
      reacted: 'reacted|reaction',
      sticker: 'stickers?|photomoji',
      file: 'images?|photos?|pictures?|movies?|videos?|attachments?|files?|audio|gif|document|pdf|animation|contact|card|location|link|memo|voice|digital|poll|memoji|invitation|payment|message|item|text|contact|collection',
      not: 'not|down',
      one: 'an?|\\d+',
      other: 'at|to|from|with|by|up|marks?|points?|message|touch',
    },
  },
  de: {
    labels: {
      from: 'von',
      sent: 'gesendet(?: am)?',
      date: 'datum',
      to: 'an',
      cc: 'cc|kopie',
      subject: 'betreff',
    },
    wrote: 'schrieb|schreibt|geschrieben',
    on: 'am',
    original:
      'ursprüngliche nachricht|original-?nachricht|originalnachricht|weitergeleitete nachricht|anfang der weitergeleiteten (?:nachricht|e-mail)',
    sentFrom:
      'von (?:meinem|meiner|unterwegs|mobil)|gesendet (?:von|mit|über|aus|per)|diese (?:nachricht|e-mail) wurde von|holen sie sich outlook|von (?:yahoo|gmx|web\\.de|outlook|mail|aol) .{0,40}gesendet',
    closing:
      '(?:mit )?(?:freundlich(?:en|e|em)|best(?:en|e)|lieb(?:en|e)|herzlich(?:en|e)|schöne[nr]?|viele[nr]?|sonnige[nr]?) (?:dank und )?(?:grü(?:ß|ss)en?|gruß|gruss)|(?:viele |schöne |liebe |beste )?(?:grüße|grüsse|gruß|gruss)|mfg|lg|vg|hochachtungsvoll|(?:vielen |herzlichen |besten )?dank|danke(?: schön| sehr| und (?:grüße|gruß))?|(?:viele|ganz) liebe grü(?:ß|ss)e|i\\. ?a\\.|i\\. ?v\\.|(?:einen )?schönen (?:tag|abend|feierabend)(?: noch)?|schönes wochenende|bis (?:bald|dann|später)|dank im voraus|alles gute',
    notice:
      '(?:diese (?:e-?mail|nachricht)|der inhalt dieser (?:e-?mail|nachricht)) .{0,150}(?:vertraulich|bestimmt)|haftungsausschluss|vertraulichkeitshinweis|denken sie an die umwelt|bitte (?:denken sie|prüfen sie).{0,60}ausdruck|virenfrei',
    greeting: 'hallo|hi|guten (?:tag|morgen|abend)|liebe[rs]?|sehr geehrte[rs]?|servus|moin|grüezi|grüß gott',
    thanks: 'danke(?: schön| sehr)?|dankeschön|(?:vielen |besten |herzlichen )?dank',
    automatic: {
      and: 'und',
      silenced:
        '(?:ich (?:habe|fahre)|mitteilungen sind|benachrichtigungen sind) .*(?:nicht stören|fokus|mitteilungen|benachrichtigungen)(?: .*)?(?:aktiviert|eingeschaltet|stumm\\p{L}*(?: geschaltet)?|aktiv|ein|ausgeschaltet)|ich fahre (?:mit )?.*(?:nicht stören|(?:fahr)?fokus)(?: fahren)?|ich fahre .*(?:aktiviert|eingeschaltet).*(?:nicht stören|fokus).*|(?:meine |die )?(?:mitteilungen|benachrichtigungen) sind (?:stumm\\p{L}*|aus(?:geschaltet)?|deaktiviert)|ich erhalte keine (?:mitteilungen|benachrichtigungen)',
      driving:
        'ich fahre(?: auto)?|fahre ich auto|ich (?:bin|sitze) am steuer|ich bin (?:mit dem auto unterwegs|unterwegs mit dem auto)|ich sitze im auto',
      now: 'gerade|im moment|derzeit|momentan|aktuell|jetzt',
      unable: '(?:ich )?kann (?:\\S+ ){0,3}nicht (?:antworten|schreiben|telefonieren|sprechen|rangehen)',
      later:
        '(?:ich )?(?:sehe|lese|antworte|melde|werde|rufe)(?: (?:mich|mir|dir|ihnen|deine|ihre|nachricht(?:en)?|die|später|sobald|wenn|ich|kann|bin|angekommen|ankomme|am|mein|ziel|erreiche|da|wieder|zurück|so|bald|wie|möglich|nach|der|fahrt|lesen|melden|antworten|zurückrufen|dann))+|wenn (?:es|dies|das) dringend ist.*|antworte mit dringend.*',
      label:
        '(?:(?:dies|das) ist eine auto(?:matisch\\p{L}*|matisierte)(?: generierte| erstellte)? (?:antwort|nachricht|sms)|autom(?:atische|\\.|atisierte)? (?:antwort|nachricht|sms)|abwesenheitsnotiz|auto-?antwort)',
      unattended:
        'diese (?:nummer|rufnummer|e ?mail ?adresse|mailbox) (?:empfängt keine .*|wird nicht (?:gelesen|überwacht)|kann keine (?:sms|nachrichten) empfangen)|bitte antworten sie nicht auf diese (?:automatische )?(?:nachricht|sms|e ?mail)|(?:bitte )?nicht auf diese (?:automatische )?(?:nachricht|sms|e ?mail) antworten',
      subject:
        'automatische (?:e-?mail-)?antwort|autom\\. antwort|automatische abwesenheit|abwesenheits(?:notiz|meldung|nachricht|agent|assistent|benachrichtigung)|automatische rückantwort|automatisierte antwort|auto-?antwort|automatische (?:abwesenheits\\p{L}*|eingangsbestätigung)|urlaubs(?:benachrichtigung|meldung|vertretung)',
      away: '(?:ich bin )?(?:derzeit |aktuell |bis [^:]{1,20} |vom [^:]{1,30} )?nicht im (?:büro|haus)|abwesend|abwesenheit|außer haus|(?:(?:ich )?bin )?(?:derzeit |aktuell |zur ?zeit )?im urlaub',
      absent: 'urlaub|(?:in )?elternzeit|(?:im )?mutterschutz|eingangsbestätigung|krank(?:heit)?',
    },
    reaction: {
      love: 'liebt|liebte|geliebt|herz|herzen',
      like: 'gefällt|gefiel|gefallen|mag|mochte|gemocht|daumen',
      dislike: 'missfällt|missfiel|missfallen',
      laugh: 'lacht|lachte|gelacht|lachen|lacher|lustig|haha',
      emphasize: 'betont|betonte|hervorgehoben|hob|hebt|ausrufezeichen|unterstrichen|unterstrich|betonung',
      question: 'hinterfragt|hinterfragte|fragt|fragte|gefragt|fragezeichen|frage|infrage',
      removed: 'entfernt|entfernte|gelöscht|zurückgenommen|zurückgezogen',
      reacted: 'reagiert|reagierte|reaktion',
      sticker: 'sticker|aufkleber',
      file: 'bild|bilder|foto|fotos|film|filme|video|videos|anhang|anhänge|datei|dateien|audio|sprachnachricht|audionachricht',
      not: 'nicht',
      one: 'ein|eine|einen|einem|einer|\\d+',
      other:
        'hat|haben|das|die|den|der|dem|von|vom|über|auf|mit|mir|bei|zu|zum|für|hervor|hoch|runter|stellt|stellte|gestellt|in|an|als|ist|es|sich|markiert|findet|fand|hinzugefügt|fügte|hinzu|kommentiert|aus|ausgewählt|gesetzt|versehen|gegeben',
    },
  },
  fr: {
    labels: {
      from: 'de|de la part de|expéditeur',
      sent: "envoyé(?: le)?|date d[’']envoi",
      date: 'date',
      to: 'à|a|destinataires?',
      cc: 'cc|copie à',
      subject: 'objet|sujet',
    },
    wrote: 'a écrit|écrit',
    on: 'le',
    original:
      "message d[’']origine|message original|message initial|message transféré|début du message (?:réexpédié|transféré)|e-mail d[’']origine",
    sentFrom:
      'envoyé (?:de|depuis|à partir|avec|via|par)|télécharge[rz] outlook|obtenir outlook|provenance\\s?:',
    closing:
      "(?:bien |très )?(?:cordialement|amicalement|sincèrement|respectueusement)(?: vôtre)?|(?:bien )?à (?:vous|toi)|(?:meilleures |sincères |cordiales )?salutations(?: distinguées| cordiales)?|merci(?: beaucoup| d[’']avance| bien)?|bonne (?:journée|soirée)|belle journée|cdlt|cdt|bien cdlt|je vous prie .{1,60}salutations.{0,30}|amitiés|bises|à (?:bientôt|plus|très vite)|avec mes (?:meilleures )?salutations|excellente journée",
    notice:
      "ce (?:message|courriel|mail|courrier).{0,150}confidentiel|avis de confidentialité|clause de (?:non-)?responsabilité|pensez à l[’']environnement|avant d[’']imprimer|garanti sans virus|sans virus",
    greeting: 'bonjour|bonsoir|salut|ch[eè]re?s?|madame|monsieur',
    thanks: 'merci(?: beaucoup| bien| d avance)?',
    automatic: {
      and: 'et',
      silenced:
        '(?:je (?:conduis|suis|ne reçois|n ai)|j ai|mes notifications|la fonction|les notifications) .*(?:ne pas déranger|concentration|notifications)(?: .*)?|(?:mes|les) notifications sont (?:désactivées|coupées|en sourdine|silencieuses)|je ne reçois pas (?:les |de |mes )?notifications',
      driving: 'je (?:conduis|suis au volant|suis en train de conduire|suis sur la route)|je suis en voiture',
      now: 'actuellement|en ce moment|pour le moment|pour l instant|là',
      unable: '(?:je )?(?:ne peux pas|ne suis pas en mesure de) (?:vous |te )?(?:répondre|parler|écrire)',
      later:
        'je (?:verrai|lirai|consulterai|répondrai|réponds|(?:vous|te) (?:réponds|répondrai|rappelle|rappellerai|recontacterai?|recontacte))(?: (?:à|a|votre|ton|vos|tes|messages?|mon|arrivée|j|arriverai|plus|tard|dès|que|possible|lorsque|quand|je|serai|suis|arrivé|e|destination|pourrai|bientôt|le|ensuite|après))*|(?:si c est|s il s agit d une|en cas d) urgen.*',
      label:
        '(?:(?:ceci|c.est|il s.agit d.) ?(?:est )?une? (?:réponse|message|sms) automatique|(?:réponse|message|sms) auto(?:matique|matisée?)?(?![\\p{L}])|rép\\. auto)',
      unattended:
        'ce numéro (?:ne reçoit pas|n accepte pas|ne peut pas recevoir) .*|(?:merci de |veuillez |prière de )ne pas répondre à ce (?:message|sms|mail|courriel)(?: automatique)?',
      subject:
        'réponse automatique|rép(?:onse)?\\.? auto|(?:message|notification|réponse) d.absence|message automatique|accusé de réception automatique',
      away: '(?:je suis )?absente?(?:\\(e\\))?(?: du bureau)?|absence du bureau|absence|(?:je suis )?(?:en congés?|en vacances)',
      absent: 'congés?(?: \\p{L}+)?|vacances|accusé de réception',
    },
    reaction: {
      love: 'adoré|adore|adorait|cœur|coeur',
      like: 'aimé|aime|pouce',
      dislike: 'désapprouvé|détesté|déplu',
      laugh: 'ri|rit|rigolé|rire|rires|rigole|haha',
      emphasize:
        'insisté|insiste|souligné|souligne|évidence|exclamation|accentué|accentue|accent|exergue|avant',
      question: 'question|interrogé|interrogée|interrogation|interroge|questionné|questionne',
      removed: 'retiré|retire|supprimé|supprime|enlevé|enlève|annulé',
      reacted: 'réagi|réagit|réaction',
      sticker: 'autocollant|sticker',
      file: 'image|images|photo|photos|vidéo|vidéos|film|films|pièces?|jointes?|fichiers?|audio|vocal',
      not: 'pas',
      one: 'un|une|\\d+',
      other:
        'a|à|de|d|du|des|la|le|les|l|j|n|s|sur|avec|par|remis|remise|mis|mention|mise|posé|pose|est|été|en|au|aux|points?|ajouté|ajoute|ce|cette|message|haut|bas|votre|air|choisi|laissé|donné|son',
    },
  },
  es: {
    labels: {
      from: 'de|remitente',
      sent: 'enviado(?: el)?|enviada(?: el)?|fecha de envío',
      date: 'fecha',
      to: 'para|a|destinatario',
      cc: 'cc|cco',
      subject: 'asunto',
    },
    wrote: 'escribió|escribio|ha escrito|escribe',
    on: 'el',
    original:
      'mensaje original|mensaje reenviado|inicio del mensaje reenviado|correo original|mensaje de origen',
    sentFrom:
      'enviado (?:desde|con|por|a través)|obten(?:er|ga|ed) outlook|descargar outlook|mandado (?:desde|con)',
    closing:
      '(?:un |muchos |cordiales |atentos |afectuosos )?(?:saludos?|abrazos?)(?: cordial(?:es)?| a todos)?|(?:un )?cordial saludo|atentamente|atte|muy atentamente|(?:muchas |mil )?gracias(?: de antemano| por todo)?|quedo atent[oa]|suyo|(?:reciba|le envío) un (?:cordial )?saludo|slds|(?:le )?saluda atentamente|quedo a la espera|hasta pronto|que tenga (?:un )?buen día|besos',
    notice:
      'este (?:mensaje|correo).{0,150}confidencial|aviso (?:legal|de confidencialidad)|antes de imprimir|libre de virus|piense en el medio ambiente',
    greeting: 'hola|buen[oa]s (?:d[ií]as|tardes|noches)|estimad[oa]s?|querid[oa]s?',
    thanks: '(?:muchas |mil )?gracias(?: de antemano)?',
    automatic: {
      and: 'y',
      silenced:
        '(?:estoy (?:conduciendo|manejando)|tengo|las notificaciones|mis notificaciones) .*(?:no molestar|modo de concentración|enfoque|notificaciones)(?: .*)?(?:activad\\p{L}*|silenciad\\p{L}*|encendid\\p{L}*|desactivad\\p{L}*)(?: con .{1,40}| cuando .*)?|(?:tengo|he) silenciad\\p{L}* (?:las |mis )?notificaciones(?: con .{1,40})?|tengo (?:activado|encendido|puesto) el modo (?:no molestar|de concentración|conducción)|(?:mis|las) notificaciones están (?:silenciadas|desactivadas|apagadas)|no (?:estoy recibiendo|recibo) notificaciones',
      driving: '(?:estoy|voy) (?:conduciendo|manejando)|estoy al volante',
      now: 'ahora mismo|ahora|en este momento|actualmente',
      unable: 'no (?:te |le |os )?puedo (?:responder|contestar|hablar|escribir|atender)(?:te|le)?',
      later:
        '(?:(?:te|le|os) )?(?:veré|leeré|responderé|contestaré|escribiré|llamaré|escribo|respondo|llamo|contesto)(?: (?:tu|su|el|mensaje|mensajes|cuando|llegue|a|mi|destino|donde|voy|luego|más|tarde|en|cuanto|pueda|lo|antes|posible|al|llegar|después|pronto))+|si es urgente.*',
      label:
        '(?:(?:este es un|esta es una) (?:mensaje|respuesta) automátic[ao]|(?:respuesta|mensaje) automátic[ao])',
      unattended:
        'este número no (?:recibe|acepta) .*|(?:por favor )?no (?:responda|respondas|conteste) a este (?:mensaje|correo|sms)',
      subject:
        '(?:respuesta|mensaje) autom[áa]tic[ao]|auto[ -]?respuesta|contestaci[óo]n autom[áa]tica|(?:mensaje|respuesta) de ausencia',
      away: '(?:estoy )?(?:fuera de (?:la )?oficina|de vacaciones)|ausente de la oficina|ausente|ausencia(?: de la oficina)?',
      absent: 'vacaciones|baja(?: por \\p{L}+)?|acuse de recibo',
    },
    reaction: {
      love: 'encantó|encanta|amó|ama|corazón|encantado|corazones',
      like: 'gustó|gusta|gustado|pulgar',
      dislike: 'disgustó|disgusta',
      laugh: 'rió|rio|ríe|reído|risa|risas|reír|gracia|jaja|haha',
      emphasize:
        'enfatizó|enfatiza|destacó|exclamó|exclamación|exclamaciones|subrayó|énfasis|resaltó|sorprende|sorprendió',
      question: 'preguntó|cuestionó|pregunta|interrogación|interrogantes?|interrogó|dudó|duda|preguntado',
      removed: 'eliminó|quitó|retiró|removió|quitado|eliminado|borró',
      reacted: 'reaccionó|reaccionado|reacción|reacciona',
      sticker: 'pegatina|sticker|adhesivo',
      file: 'imagen|imágenes|fotos?|fotografía|videos?|vídeos?|películas?|archivos?|adjuntos?|audio',
      not: 'no',
      one: 'un|una|unos|\\d+',
      other:
        'le|se|ha|han|el|la|los|las|de|del|en|con|a|al|por|me|te|lo|signos?|sobre|que|puso|hizo|dio|arriba|abajo|mensaje|este|añadió|agregó|marcó|indicado|indicó|dejó|eligió|puesto|dado|marcado|hace|añadido',
    },
  },
  pt: {
    labels: {
      from: 'de|remetente',
      sent: 'enviado(?: em)?|enviada(?: em)?|data de envio',
      date: 'data',
      to: 'para|destinatário',
      cc: 'cc|cco',
      subject: 'assunto',
    },
    wrote: 'escreveu|escreve',
    on: 'em|no dia|a',
    original:
      'mensagem original|mensagem (?:encaminhada|reencaminhada)|início da mensagem (?:encaminhada|reencaminhada)',
    sentFrom:
      'enviado (?:do|de|da|pelo|com|a partir|por|via)|obter (?:o )?outlook|obtenha o outlook|baixar o outlook|baix[ea] o outlook',
    closing:
      'atenciosamente|att|cordialmente|(?:melhores |com os melhores )?cumprimentos|(?:um |grande )?abraços?|(?:muito )?obrigad[oa](?: desde já| pela atenção)?|saudações|grat[oa]|abs|beijos|bjs?|até (?:breve|logo|mais)|tenha um (?:bom|ótimo) dia|com os melhores cumprimentos',
    notice:
      'esta (?:mensagem|comunicação).{0,150}confidencia|este e-?mail.{0,150}confidencia|aviso (?:legal|de confidencialidade)|antes de imprimir|livre de vírus|sem vírus',
    greeting: 'ol[áa]|oi|bom dia|boa (?:tarde|noite)|prezad[oa]s?|car[oa]s?|estimad[oa]s?',
    thanks: '(?:muito )?obrigad[oa]|grat[oa]|valeu',
    automatic: {
      and: 'e',
      silenced:
        '(?:estou (?:dirigindo|conduzindo|a conduzir)|tenho|as notificações|minhas notificações) .*(?:não (?:perturbe|perturbar|incomodar)|foco|concentração|notificações)(?: .*)?(?:ativad\\p{L}*|ligad\\p{L}*|silenciad\\p{L}*|ativo)|(?:estou com )?(?:as minhas |minhas |as )?notificações (?:estão )?(?:silenciadas|desativadas|desligadas)(?: (?:com|pelo|pela) .{1,40})?|não (?:estou recebendo|estou a receber|recebo) notificações',
      driving: 'estou (?:dirigindo|conduzindo|a conduzir|ao volante)',
      now: 'agora mesmo|agora|neste momento|no momento|atualmente',
      unable: 'não (?:te |lhe )?posso (?:responder|falar|atender|escrever)',
      later:
        '(?:verei|vou ver|lerei|responderei|respondo|vejo|retorno|ligo|entrarei em contato)(?: (?:a|o|sua|tua|seu|mensagem|mensagens|quando|chegar|ao|meu|destino|mais|tarde|logo|que|possível|assim|puder|depois|em|breve|lá|te|lhe))+|se for urgente.*',
      label: '(?:esta é uma (?:mensagem|resposta) automática|(?:resposta|mensagem) automática)',
      unattended:
        'este número não (?:recebe|aceita) .*|(?:por favor )?não responda a esta (?:mensagem|sms)|(?:por favor )?não responda a este (?:e ?mail|sms)',
      subject: '(?:resposta|mensagem) autom[áa]tica|auto-?resposta|(?:mensagem|resposta) de aus[êe]ncia',
      away: '(?:estou )?(?:fora do escrit[óo]rio|de férias)|aus[êe]ncia(?: tempor[áa]ria| do escrit[óo]rio)?|ausente(?: do escrit[óo]rio)?',
      absent: 'férias|licença(?: \\p{L}+)?|fora da empresa',
    },
    reaction: {
      love: 'amou|ama|adorou|adora|coração|corações|amei',
      like: 'gostou|gosta|gosto|curtiu|curtida|curtiram|polegar|joinha|curti|gostei',
      dislike: 'descurtiu|desgostou|detestou',
      laugh: 'riu|graça|risada|risadas|rindo|riso|risos|rir|haha',
      emphasize: 'enfatizou|destacou|exclamação|exclamações|ênfase|realçou|sublinhou',
      question: 'questionou|perguntou|interrogação|pergunta|dúvida|duvidou',
      removed: 'removeu|retirou|tirou|apagou|eliminou|removido',
      reacted: 'reagiu|reação|reage',
      sticker: 'figurinha|autocolante|adesivo|sticker',
      file: 'imagem|imagens|fotos?|fotografia|vídeos?|videos?|filmes?|anexos?|arquivos?|ficheiros?|áudio',
      not: 'não|nao',
      one: 'um|uma|umas|uns|\\d+',
      other:
        'o|a|os|as|de|do|da|dos|das|em|no|na|com|à|ao|às|se|ponto|sinal|por|sobre|que|você|colocou|deu|achou|mensagem|esta|adicionou|marcou|indicou|deixou',
    },
  },
  it: {
    labels: {
      from: 'da|mittente',
      sent: 'inviato(?: il)?|inviata(?: il)?|data invio',
      date: 'data',
      to: 'a|per|destinatario',
      cc: 'cc|ccn',
      subject: 'oggetto',
    },
    wrote: 'ha scritto|scrive|scrisse',
    on: 'il giorno|il|in data',
    original: 'messaggio originale|messaggio inoltrato|inizio messaggio inoltrato',
    sentFrom: 'inviato (?:da|dal|con|tramite|via)|scarica outlook|ottieni outlook',
    closing:
      '(?:cordiali |distinti |i migliori |un caro |tanti )?salut[io](?: cordiali| e grazie)?|cordialmente|(?:molte |mille |tante )?grazie(?: mille| e .{1,20}| in anticipo)?|a presto|buona giornata|in fede|(?:un |cari |affettuosi )?salut[oi]|un abbraccio|con i migliori saluti|buon (?:lavoro|weekend)|a (?:risentirci|domani)',
    notice:
      '(?:questo messaggio|questa (?:e-?mail|comunicazione)|il contenuto di quest[ao]).{0,150}(?:riservat|confidenzial)|avviso di riservatezza|prima di stampare|privo di virus',
    greeting: 'ciao|salve|buon ?giorno|buona ?sera|gentil(?:e|issim[oai])|egregi[oa]|car[oaie]',
    thanks: '(?:molte |tante )?grazie(?: mille)?',
    automatic: {
      and: 'e|ed',
      silenced:
        '(?:sto guidando|ho|le notifiche|sono) .*(?:non disturbare|full immersion|concentrazione|notifiche)(?: .*)?(?:attiv\\p{L}*|abilitat\\p{L}*|silenziat\\p{L}*|disattivat\\p{L}*)(?: con .{1,40})?|ho (?:silenziato|disattivato) le notifiche.*|ho attivato (?:la )?(?:modalità )?(?:non disturbare|full immersion).*|le notifiche sono (?:silenziate|disattivate)|non (?:ricevo|sto ricevendo) (?:le )?notifiche',
      driving: 'sto guidando|sono (?:alla guida|al volante)',
      now: 'in questo momento|adesso|ora|al momento|attualmente',
      unable: 'non posso (?:rispondere|parlare|scrivere)(?:ti|le)?',
      later:
        '(?:(?:ti|le|vi) )?(?:vedrò|leggerò|risponderò|richiamerò|rispondo|richiamo|scrivo|ricontatterò)(?: (?:il|tuo|suo|messaggio|messaggi|al|ai|quando|arrivo|arriverò|a|destinazione|più|tardi|appena|possibile|posso|all|dopo|non|prima|sarò|arrivato|arrivata))+|se è urgente.*',
      label:
        '(?:questo è un messaggio automatico|questa è una risposta automatica|(?:risposta|messaggio) automatic[ao])',
      unattended:
        'questo numero non (?:riceve|accetta) .*|(?:si prega di |per favore )?non rispondere a questo (?:messaggio|sms)|(?:si prega di )?non rispondere a questa (?:e ?mail|mail)',
      subject: '(?:risposta|messaggio) automatic[ao]|auto-?risposta|(?:avviso|messaggio|risposta) di assenza',
      away: '(?:sono )?(?:fuori (?:sede|ufficio)|in ferie)|(?:sono )?assen(?:te|za)(?: dall.ufficio)?',
      absent: 'ferie|maternità',
    },
    reaction: {
      love: 'amato|ama|adorato|adora|cuore|cuori|cuoricino',
      like: 'piaciuto|piaciuta|piace|apprezzato|apprezza|pollice',
      dislike: 'disapprovato|dispiaciuto',
      laugh: 'riso|ride|risata|risate|ridere|riso|haha|divertente',
      emphasize:
        'enfatizzato|enfatizza|evidenziato|evidenzia|esclamativo|esclamativi|esclamazione|sottolineato|enfasi|rilievo|risalto|evidenza',
      question: 'domanda|interrogativo|interrogativi|domandato|chiesto|dubbio|dubbi|contestato|interrogato',
      removed: 'rimosso|rimossa|tolto|eliminato|ritirato',
      reacted: 'reagito|reazione|reagisce',
      sticker: 'adesivo|sticker',
      file: 'immagine|immagini|foto|video|filmato|filmati|allegato|allegati|file|audio',
      not: 'non',
      one: 'un|una|uno|\\d+',
      other:
        'ha|il|lo|la|i|gli|le|di|del|dello|della|da|dal|dallo|dalla|a|ad|al|allo|alla|all|dell|dall|su|sul|sulla|con|è|e|mi|ti|punto|punti|per|in|l|d|fatto|posto|messo|aggiunto|espresso|che|giù|trova|trovato|indicato|lasciato|scelto|inserito',
    },
  },
  nl: {
    labels: {
      from: 'van',
      sent: 'verzonden(?: op)?|verstuurd',
      date: 'datum',
      to: 'aan',
      cc: 'cc|kopie',
      subject: 'onderwerp',
    },
    wrote: 'schreef|schrijft|geschreven',
    on: 'op',
    original: 'oorspronkelijk bericht|origineel bericht|doorgestuurd bericht|begin doorgestuurd bericht',
    sentFrom:
      'verzonden (?:vanaf|met|via|vanuit)|verstuurd (?:vanaf|met|via|vanuit)|outlook voor .* downloaden|download outlook|outlook downloaden',
    closing:
      '(?:met )?(?:vriendelijke|hartelijke|beste|warme) (?:groet(?:en|jes)?|dank)|(?:hartelijke |veel |beste )?groet(?:en|jes)?|mvg|hoogachtend|bedankt|dank(?: u| je)?(?: wel)?|alvast bedankt|dankjewel|dankuwel|gr\\.?|gr(?:tjs|oetjes)|fijne (?:dag|avond|week)|fijn weekend|met (?:hartelijke )?dank|tot (?:snel|dan|gauw)',
    notice:
      '(?:dit (?:bericht|e-?mailbericht)|deze e-?mail|de informatie in (?:dit|deze)).{0,150}(?:vertrouwelijk|bestemd)|virusvrij|denk aan het milieu',
    greeting: 'hallo|hoi|goede(?:morgen|middag|navond|ndag)|beste|geachte|lieve',
    thanks: '(?:alvast |hartelijk )?bedankt|dank(?: je| u)?(?: wel)?|dankjewel|dankuwel',
    automatic: {
      and: 'en',
      silenced:
        '(?:ik (?:zit|heb|rijd|rij|ben)|meldingen zijn) .*(?:niet storen|focus|meldingen)(?: .*)?(?:ingeschakeld|aan|uitgeschakeld|uitgezet|uit|gedempt|staan|niet storen)|(?:mijn )?meldingen (?:zijn|staan) (?:gedempt|uitgeschakeld|uit)|ik ontvang geen meldingen',
      driving:
        'ik (?:rijd|rij)(?: auto)?|ik (?:ben aan het rijden|zit achter het stuur|zit in de auto)|ik ben onderweg met de auto',
      now: 'nu|op dit moment|momenteel|even',
      unable: '(?:ik )?kan (?:\\S+ ){0,2}niet (?:antwoorden|reageren|praten|appen|bellen)',
      later:
        '(?:ik )?(?:bekijk|zie|lees|reageer|antwoord|bel|app|kom)(?: (?:je|uw|jouw|bericht|berichten|zodra|wanneer|als|ik|er|ben|op|mijn|bestemming|later|terug|aangekomen|aankom|kan|straks|zo|snel|mogelijk|de|het|daarna|u))+|als (?:het|dit) dringend is.*',
      label:
        '(?:dit is een automatisch|automatisch (?:antwoord|bericht)|automatische (?:reactie|beantwoording)|afwezigheidsbericht)',
      unattended:
        'dit nummer (?:ontvangt geen|accepteert geen) .*|(?:gelieve )?(?:beantwoord dit bericht niet|niet te antwoorden op dit bericht|reageer niet op dit bericht)',
      subject:
        'automatische? (?:antwoord|reactie|bericht|beantwoording)|afwezigheids(?:bericht|melding|assistent)',
      away: '(?:ik ben )?(?:afwezig|niet (?:aanwezig|op kantoor)|buiten kantoor|(?:met|op) (?:vakantie|verlof))',
      absent: 'vakantie|\\p{L}*verlof|afwezigheid',
    },
    reaction: {
      love: 'geweldig|hart|hartje|liefde|hield|houdt|prachtig',
      like: 'leuk|duim|vind-ik-leuk',
      dislike: 'afgekeurd|stom',
      laugh: 'lachte|gelachen|lacht|lachen|lach|grappig|haha',
      emphasize: 'benadrukte|benadrukt|uitroepteken|uitroeptekens|nadruk',
      question:
        'vraagteken|vraagtekens|vroeg|vraagt|bevraagd|betwijfelt|betwijfelde|vraag|twijfelt|twijfelde|twijfel',
      removed: 'verwijderde|verwijderd|verwijdert|weggehaald|weg',
      reacted: 'reageerde|gereageerd|reactie|reageert',
      sticker: 'sticker',
      file: 'afbeelding|afbeeldingen|foto|video|film|bijlage|bijlagen|bestand|bestanden|audio|audiobericht',
      not: 'niet',
      one: 'een|\\d+',
      other:
        'vond|vindt|vind|gevonden|ik|van|om|het|de|met|op|bij|heeft|is|dat|dit|er|aan|over|legde|haalde|plaatste|zette|omhoog|omlaag|bericht|als|gemarkeerd|zich|af|stelde|trok|in|toegevoegd|toe|voegde|gaf',
    },
  },
  da: {
    labels: { from: 'fra', sent: 'sendt', date: 'dato', to: 'til', cc: 'cc|kopi', subject: 'emne' },
    wrote: 'skrev|skriver|skrevet',
    on: 'den',
    original:
      'oprindelig meddelelse|original meddelelse|videresendt (?:meddelelse|besked)|start på videresendt besked',
    sentFrom: 'sendt (?:fra|med|via)|hent outlook|få outlook',
    closing:
      '(?:med )?(?:venlig|venlige|kærlig|kærlige|mange|de bedste|bedste) hilsen(?:er)?|(?:mange |kærlig |venlig )?hilsen|mvh|vh|kh|(?:mange |på forhånd )?tak(?: for hjælpen)?|tusind tak|(?:de )?bedste hilsner|(?:god|fortsat god|hav en god) (?:dag|aften|weekend)|vi ses|knus',
    notice: 'denne (?:e-?mail|mail|meddelelse).{0,150}fortrolig|virusfri|tænk på miljøet',
    greeting: 'hej|goddag|god (?:morgen|aften)|kære|hejsa',
    thanks: '(?:mange |tusind )?tak',
    automatic: {
      and: 'og',
      silenced:
        '(?:jeg (?:kører|har)|notifikationer er|meddelelser er) .*(?:forstyr ikke|fokus|notifikationer|meddelelser)(?: .*)?(?:slået|aktiveret|til|fra|lydløs)|(?:mine )?(?:notifikationer|meddelelser) er (?:slået fra|lydløse|deaktiveret)|jeg har slået (?:mine )?(?:notifikationer|meddelelser) fra|jeg modtager ikke (?:notifikationer|meddelelser)',
      driving: 'jeg kører(?: bil)?|jeg sidder bag rattet',
      now: 'lige nu|i øjeblikket|nu',
      unable: '(?:jeg )?kan (?:\\S+ ){0,2}ikke (?:svare|tale|skrive)',
      later:
        '(?:jeg )?(?:ser|læser|svarer|ringer|vender)(?: (?:på|din|dine|besked|beskeder|når|jeg|er|fremme|senere|tilbage|når|frem|ankommer|så|snart|som|muligt|kan|dig))+|hvis det haster.*',
      label: '(?:dette er (?:et automatisk svar|en automatisk besked)|autosvar|automatisk (?:svar|besked))',
      unattended:
        'dette nummer modtager ikke .*|(?:du|man) kan ikke svare på denne besked|svar venligst ikke på denne (?:besked|mail)',
      subject: 'autosvar|automatisk (?:svar|besked)|automatsvar|fraværsbesked',
      away: '(?:jeg er )?(?:ikke på kontoret|fraværende|på ferie)',
      absent: 'ferie|fravær|(?:på )?barsel',
    },
    reaction: {
      love: 'elskede|elsker|hjerte|hjerter',
      like: 'godt|lide|likede|tommel|tommelfinger|synes|syntes',
      dislike: 'dårligt',
      laugh: 'grinede|griner|grinte|lo|ler|grin|latter|haha',
      emphasize: 'fremhævede|fremhæver|understregede|understreger|udråbstegn|betonede',
      question: 'spurgte|spørger|spørgsmålstegn|spørgsmål|betvivlede',
      removed: 'fjernede|fjerner|fjernet|slettede',
      reacted: 'reagerede|reagerer|reaktion',
      sticker: 'mærkat|sticker|klistermærke',
      file: 'billede|billeder|foto|fotos|video|videoer|film|vedhæftning|bilag|fil|filer|lydbesked|lyd',
      not: 'ikke',
      one: 'et|en|\\d+',
      other:
        'den|det|ad|til|fra|på|med|om|ved|kunne|kan|har|satte|sætter|stillede|stiller|af|op|ned|over|tilføjede|tilføjet|tilføjer|føjede|føjer|føjet|gav|givet',
    },
  },
  sv: {
    labels: {
      from: 'från',
      sent: 'skickat|skickades|sänt',
      date: 'datum',
      to: 'till',
      cc: 'cc|kopia',
      subject: 'ämne|rubrik',
    },
    wrote: 'skrev|skriver|skrivit',
    on: 'den',
    original:
      'ursprungligt meddelande|originalmeddelande|vidarebefordrat (?:meddelande|brev)|vidarebefordrat brev börjar',
    sentFrom:
      'skickat (?:från|med|via)|skickades från|hämta outlook|skaffa outlook|från min (?:iphone|ipad|mobil)$',
    closing:
      '(?:med )?(?:vänlig|vänliga|bästa|hjärtliga|varma|många) hälsning(?:ar)?|(?:bästa |varma )?hälsningar|hälsn|mvh|vh|hälsar|(?:tack|stort tack|många tack)(?: på förhand| så mycket)?|vänligen|allt gott|ha en (?:bra|fin|trevlig) (?:dag|kväll|helg)|vi ses|kram',
    notice:
      '(?:detta (?:e-?postmeddelande|meddelande|mejl)|denna e-?post).{0,150}(?:konfidentiell|avsett)|virusfri|tänk på miljön',
    greeting: 'hej|hejsan|god (?:morgon|kväll|dag)|bästa|kära',
    thanks: '(?:stort |många )?tack(?: så mycket)?',
    automatic: {
      and: 'och',
      silenced:
        '(?:jag (?:kör|har)|notiser är|aviseringar är) .*(?:stör ej|stör inte|fokus|notiser|aviseringar)(?: .*)?(?:på|påslag\\p{L}*|aktiver\\p{L}*|ljudlös\\p{L}*|tyst\\p{L}*|av|avstängd\\p{L}*)|(?:mina )?(?:notiser|aviseringar) är (?:avstängda|tystade|ljudlösa)|jag har stängt av (?:mina )?(?:notiser|aviseringar)|jag får inga (?:notiser|aviseringar)',
      driving: 'jag kör(?: bil)?|jag sitter bakom ratten',
      now: 'just nu|för tillfället|nu',
      unable: '(?:jag )?kan (?:\\S+ ){0,2}inte (?:svara|prata|skriva)',
      later:
        '(?:jag )?(?:ser|läser|svarar|ringer|återkommer)(?: (?:på|ditt|dina|meddelande|meddelanden|när|jag|är|framme|senare|tillbaka|så|fort|snart|som|möjligt|kan|dig|kommer|fram))*|om det är brådskande.*',
      label: '(?:detta är ett automatiskt (?:svar|meddelande)|autosvar|automatiskt (?:svar|meddelande))',
      unattended:
        'detta nummer (?:tar inte emot|kan inte ta emot) .*|(?:vänligen )?svara inte på detta (?:meddelande|mejl|sms)',
      subject: 'autosvar|automatiskt svar|frånvaromeddelande',
      away: '(?:jag är )?(?:frånvarande|inte på kontoret|ej på kontoret|på semester)|frånvaro',
      absent: 'semester|föräldraledig\\p{L}*',
    },
    reaction: {
      love: 'älskade|älskar|hjärta|hjärtan',
      like: 'gillade|gillar|gilla|tyckte|tycker|tumme|tummen',
      dislike: 'ogillade|ogillar|ogilla',
      laugh: 'skrattade|skrattar|skratt|haha',
      emphasize: 'betonade|betonar|framhävde|framhäver|utropstecken|underströk|poängterade',
      question: 'ifrågasatte|ifrågasätter|frågade|frågar|frågetecken|undrade',
      removed: 'bort|raderade',
      reacted: 'reagerade|reagerar|reaktion',
      sticker: 'klistermärke|sticker',
      file: 'bild|bilder|foto|foton|video|videor|film|filmer|bilaga|bilagor|fil|filer|ljud|ljudmeddelande',
      not: 'inte|ej',
      one: 'ett|en|\\d+',
      other: 'om|från|på|åt|med|till|tog|tar|tagit|har|av|för|upp|ned|ner|lade|lagt|lägger|gav|gett',
    },
  },
  pl: {
    labels: {
      from: 'od|nadawca',
      sent: 'wysłano|wysłane|wysłany',
      date: 'data',
      to: 'do|adresat',
      cc: 'dw|cc|do wiadomości',
      subject: 'temat',
    },
    wrote: 'napisał(?:\\(a\\)|a|/a)?|pisze|napisana przez|napisane przez',
    on: 'w dniu|dnia|wiadomość napisana',
    original:
      'oryginalna wiadomość|wiadomość oryginalna|wiadomość pierwotna|przekazana wiadomość|wiadomość przekazana|początek przekazywanej wiadomości|treść przekazanej wiadomości',
    sentFrom: 'wysłan[eoay] (?:z|ze|przez|za pomocą)|pobierz (?:program |aplikację )?outlook|uzyskaj outlook',
    closing:
      '(?:z )?(?:poważaniem|wyrazami szacunku|pozdrowieniami)|(?:serdecznie |ciepło )?pozdrawiam(?: serdecznie)?|(?:serdeczne |najlepsze )?pozdrowienia|pozdr|(?:bardzo |z góry |serdecznie )?dziękuję(?: bardzo| z góry| i pozdrawiam)?|dzięki(?: wielkie)?|łączę (?:wyrazy szacunku|pozdrowienia)|miłego (?:dnia|weekendu|wieczoru)|do (?:zobaczenia|usłyszenia)|ukłony',
    notice:
      '(?:ta wiadomość|niniejsza wiadomość|treść (?:tej|niniejszej) wiadomości).{0,150}poufn|wolny od wirusów|zanim wydrukujesz',
    greeting: 'cześć|dzień dobry|dobry wieczór|witam|szanown[yaie]+|drog[iae]|hej',
    thanks: '(?:bardzo )?dzi[ęe]kuj[ęe](?: bardzo)?|dzi[ęe]ki(?: wielkie)?',
    automatic: {
      and: 'i',
      silenced:
        '(?=.*(?:nie przeszkadzać|skupieni|powiadomieni))(?=.*(?:włącz|wycisz|aktywn))(?:prowadzę|mam|powiadomienia są) .*|nie otrzymuję powiadomień',
      driving: '(?:prowadzę|kieruję)(?: samochód| samochodem| pojazd| auto)?|jestem za kierownicą',
      now: 'teraz|właśnie|w tej chwili|obecnie',
      unable: 'nie mogę (?:\\S+ ){0,2}(?:odpisać|odpowiedzieć|rozmawiać|pisać)',
      later:
        '(?:zobaczę|przeczytam|odpiszę|odpowiem|oddzwonię)(?: (?:twoją|pani|pana|na|wiadomość|wiadomości|gdy|kiedy|jak|tylko|dojadę|dotrę|miejsce|później|do|celu|będę|mogła|mógł|potem))+|jeśli to pilne.*',
      label:
        '(?:(?:to jest )?(?:automatyczna )?(?:odpowiedź|wiadomość) automatyczna|(?:to jest )?automatyczna (?:odpowiedź|wiadomość)|autoodpowiedź)',
      unattended:
        'ten numer nie (?:odbiera|przyjmuje) .*|(?:prosimy |proszę )?nie odpowiada(?:ć|j) na tę wiadomość',
      subject: 'odpowiedź automatyczna|automatyczna odpowiedź|autoodpowiedź',
      away: '(?:jestem )?(?:poza biurem|na urlopie|nieobecn[ya])|nieobecność(?: w (?:biurze|pracy))?',
      absent: 'urlop',
    },
    reaction: {
      love: 'pokochał|pokochała|uwielbia|uwielbiam|serce|serca|serduszko|kocha',
      like: 'polubiono|lubiane|lubiany|lubiana|polubił|polubiła|polubił\\(a\\)|lubi|podoba|podobało|polubienie|kciuk|kciuka',
      dislike: 'znielubił|znielubiła',
      laugh: 'śmieje|zaśmiał|zaśmiała|roześmiał|roześmiała|śmiech|śmiał|śmiała|rozbawiło|śmiechu|haha',
      emphasize: 'podkreśl\\p{L}*|wyróżni\\p{L}*|wykrzyknik|wykrzyknika|podkreślenie',
      question:
        'zakwestionował|zakwestionowała|zapytał|zapytała|pytajnik|pyta|pytanie|zapytania|kwestion\\p{L}*',
      removed: 'usunął|usunęła|usunięto|usuń|cofnął|cofnęła',
      reacted: 'zareagował|zareagowała|reakcja|reakcję|reakcji|reaguje|zareagowano',
      sticker: 'naklejka|naklejkę|naklejką',
      file: 'obraz|obrazu|obrazek|zdjęcie|zdjęcia|zdjęciu|film|filmu|wideo|załącznik|załącznika|plik|pliku|nagranie',
      not: 'nie',
      other:
        'się|dodano|dodał|dodała|oznaczono|oznaczył|oznaczyła|z|ze|na|do|od|w|mu|jej|jest|znak|znaku|za|o|to|jako|ku|pomocą|\\d+|dał|dała',
    },
  },
  ja: {
    labels: {
      from: '差出人|送信者|from',
      sent: '送信日時|送信日',
      date: '日付|日時|date',
      to: '宛先|to',
      cc: 'cc',
      subject: '件名|題名|subject',
    },
    wrote: 'のメール|のメッセージ|さんは書きました|が書きました|書きました|wrote',
    on: '(?:19|20)\\d\\d',
    original: '元のメッセージ|元のメール|転送されたメッセージ|転送メッセージ|original message',
    sentFrom: '(?:.{1,40})?から送信(?:されました)?|outlook for .* を入手(?:する)?|.* 版 outlook を.*',
    closing:
      '(?:以上、?)?(?:どうぞ)?(?:よろしく|宜しく)(?:お願い(?:いた|致)?します|お願い申し上げます|お願いします)?|敬具|草々|ありがとうございま(?:す|した)|ありがとう|失礼(?:いた)?します|(?:以上、?)?(?:何卒|どうぞ|今後とも)?、?(?:よろしく|宜しく)お願い(?:申し上げ|いたし|致し|し)?ます|以上(?:です)?|またね',
    notice: 'この(?:電子)?メール.{0,100}(?:機密|秘密)|ウイルスフリー',
    greeting:
      'こんにちは|こんばんは|おはようございます|お世話になって(?:おり|い)ます|.{1,20}(?:様|さん|さま)',
    thanks: 'ありがとう(?:ございます|ございました)?|どうも|お願いします|よろしくお願いします',
    automatic: {
      and: '(?!)',
      silenced:
        '.*(?:おやすみモード|集中モード|通知).*(?:オン|設定|停止|オフ|消音).*|.*通知を受け取って(?:いません|おりません).*',
      driving: '(?:私は)?(?:車を)?運転中(?:です)?(?:のため)?',
      now: '現在|ただいま|ただ今|只今|今',
      unable: '.*(?:返信|応答|電話に出る).*(?:できません|出来ません|ことができません)',
      later: '.*(?:到着|着いたら|後ほど|のちほど|後で|運転が終わ).*(?:確認|返信|連絡|読み).*|.*緊急の場合.*',
      label: '(?:これは)?(?:自動返信|自動応答|自動送信|不在通知)(?:です|メッセージです)?',
      unattended: 'この(?:番号|メール|メッセージ)(?:は受信専用|に返信しない|には返信).*',
      subject: '自動(?:返信|応答)|不在通知|不在の?お知らせ',
      away: '不在|休暇中|外出中',
      absent: '休暇|休業(?:のお知らせ)?',
    },
    reaction: {
      love: 'ハート|大好き|愛|ラブ|好き',
      like: 'いいね|高評価|グッド|お気に入り|気に入|高く評価',
      dislike: 'よくない|よくないね|嫌い|低評価|イマイチ|いまいち|バッド',
      laugh: '笑|ウケ|爆笑|ハハ|おもしろい|面白い',
      emphasize: '強調|感嘆符|びっくりマーク|ビックリマーク',
      question: '疑問符|疑問|質問|はてな|ハテナ',
      removed: '削除|取り消|取消|外|消去|解除',
      reacted: 'リアクション|反応',
      sticker: 'ステッカー|シール',
      file: '画像|写真|ビデオ|動画|添付ファイル|ファイル|音声|イメージ|ムービー|書類',
      not: '(?!)',
      other: 'マーク|[ぁ-んー]|表|付|送|メッセージ|中|人|言',
    },
    isSpaceless: true,
  },
  zh: {
    labels: {
      from: '发件人|寄件者|寄件人|發件人|发信人',
      sent: '发送时间|傳送時間|發送時間|寄件日期|发送日期|已发送',
      date: '日期|时间|時間',
      to: '收件人|收件者|收信人',
      cc: '抄送|副本|抄送人',
      subject: '主题|主旨|主題|标题',
    },
    wrote: '写道|寫道|写了|写到|寫了|撰写|來信|来信',
    on: '在|于|於|(?:19|20)\\d\\d',
    original:
      '原始邮件|邮件原件|原始郵件|转发的邮件|转发邮件|轉寄的郵件|原邮件|開始轉寄的郵件|开始转发的邮件',
    sentFrom:
      '(?:发|發)自|(?:从|從)我的.{1,40}(?:发送|傳送|发出)|获取.{0,10}outlook|取得.{0,10}outlook|来自我的|(?:从|從).{1,30}(?:发送|傳送)$|(?:发送|發送|傳送)自',
    closing:
      '此致(?:敬礼|敬禮)?|敬礼|敬祝|祝好|顺祝商祺|順頌商祺|谢谢[您你]?|謝謝[您你]?|感谢|感謝|致敬|敬上|顺颂商祺|順頌商祺|祝(?:工作|生活|身体|您|你|一切|商).{0,8}|敬颂.{0,6}|商祺|顺祝.{0,6}',
    notice: '(?:本|此)(?:邮件|郵件|电子邮件|電子郵件).{0,100}(?:保密|机密|機密)|无病毒',
    greeting: '你好|您好|大家好|早上好|下午好|晚上好|尊敬的|亲爱的|親愛的',
    thanks: '谢谢[您你]?|謝謝[您你]?|感谢|感謝|多谢|多謝',
    automatic: {
      and: '(?!)',
      silenced:
        '.*已?(?:开启|開啟|打开|打開)了?.{0,6}(?:专注|專注|勿扰|勿擾).*|.*(?:勿扰|勿擾|请勿打扰|專注模式|专注模式|通知).*(?:开启|開啟|打开|静音|靜音|已开|已開|關閉|关闭).*|.*(?:收不到|没有收到|不会收到|未接收|没有接收|沒有接收|不接收)通知.*',
      driving: '我?在?(?:开车|開車|驾驶|駕駛|驾车|駕車)(?:中)?',
      now: '现在|現在|目前|正在|此刻',
      unable: '(?:我)?(?:无法|無法|不能|不方便)(?:回复|回覆|接听|接聽|接电话|看手机).*',
      later:
        '.*(?:到达|到達|抵达|抵達|稍后|稍後|一会|一會).*(?:查看|回复|回覆|看|联系|聯繫|联络).*|.*(?:紧急|緊急).*',
      label: '(?:这是|這是|此为)?(?:自动回复|自動回覆|自动答复|自動回復|系统自动回复)',
      unattended:
        '(?:请勿|請勿|请不要)(?:直接)?(?:回复|回覆)(?:此|本)(?:短信|邮件|訊息|信息).*|您好 ?我?现在有事不在.*',
      subject: '(?:系统|系統|外出|假期|休假)?(?:自动|自動)(?:回复|答复|回覆|答覆|回復)',
      away: '外出|不在办公室|不在辦公室|休假中',
      absent: '休假|假期',
    },
    reaction: {
      love: '爱心|愛心|喜爱|喜愛|红心|爱|愛|心',
      like: '喜欢|喜歡|点赞|點讚|按讚|按赞|赞|讚|大拇指',
      dislike: '不喜欢|不喜歡|踩|反对|反對|差评|倒赞|不赞|拇指向下',
      laugh: '大笑|好笑|哈哈|笑',
      emphasize: '强调|強調|感叹号|感嘆號|叹号|嘆號|驚嘆號|惊叹号',
      question: '疑问|疑問|质疑|質疑|问号|問號|提问|提問',
      removed: '移除|删除|刪除|取消|撤回|撤销|撤銷|收回',
      reacted: '回应|回應|反应|反應|回复|回覆|做出|作出',
      sticker: '贴纸|貼紙|表情',
      file: '图片|圖片|照片|视频|視頻|影片|附件|文件|音频|音訊|檔案|相片|图像|圖像',
      not: '不|没|沒|未',
      other:
        '了|对|對|将|將|从|從|的|一|个|個|张|張|段|份|用|以|表示|给|給|中|在|上|条|條|則|则|信息|訊息|消息|讯息|进行|進行|為|为|已|向|使用|添加|加|你|我|他|她|覺得|觉得|很|标记|標記|来|來|表达|表達|说|說|点|點|了',
    },
    isSpaceless: true,
  },
  ru: {
    labels: {
      from: 'от|от кого|отправитель',
      sent: 'отправлено|отправлен|дата отправки',
      date: 'дата',
      to: 'кому|получатель',
      cc: 'копия|cc',
      subject: 'тема',
    },
    wrote: 'написал(?:а|\\(а\\)|и)?|пишет|писал(?:а|\\(а\\))?',
    on: '(?:пн|вт|ср|чт|пт|сб|вс|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье)',
    original:
      'исходное сообщение|оригинальное сообщение|пересланное сообщение|пересылаемое сообщение|начало переадресованного (?:письма|сообщения)|конец пересылаемого сообщения',
    sentFrom: 'отправлено (?:с|со|из|через)|скачать outlook|получить outlook|отправлен[оа] из мобильн',
    closing:
      'с (?:уважением|наилучшими пожеланиями|приветом|любовью)|всего (?:доброго|хорошего|наилучшего)|(?:большое )?спасибо(?: большое| заранее)?|заранее (?:спасибо|благодарю)|благодарю|искренне ваш[аи]?|хорошего (?:дня|вечера)|хороших выходных|до (?:встречи|связи|свидания)|удачи',
    notice:
      '(?:это (?:письмо|сообщение)|данное (?:письмо|сообщение)|настоящее сообщение).{0,150}конфиденциальн|без вирусов',
    greeting:
      'здравствуйте|привет|добр(?:ый|ое|ой) (?:день|утро|вечер)|уважаем(?:ый|ая|ые)|дорог(?:ой|ая|ие)',
    thanks: '(?:большое )?спасибо(?: большое| заранее)?|благодарю',
    automatic: {
      and: 'и',
      silenced:
        '(?=.*(?:не беспокоить|фокусирован|уведомлени|за рул[её]м|вождени))(?=.*(?:включ|отключ|без звука|заглуш))(?:я за рул[её]м|у меня|уведомления) .*|я не получаю уведомлени\\p{L}*',
      driving: '(?:я )?за рул[её]м|я (?:еду за рул[её]м|веду машину)',
      now: 'сейчас|в данный момент|в настоящее время',
      unable: '(?:я )?не могу (?:\\S+ )?(?:ответить|говорить|писать)',
      later:
        '(?:я )?(?:увижу|прочитаю|прочту|отвечу|перезвоню)(?: (?:на|ваше|твоё|твое|сообщение|вам|тебе|когда|как|только|доберусь|до|места|позже|смогу|приеду|освобожусь|потом))+|если это срочно.*',
      label: '(?:это )?(?:автоответ(?:чик)?|автоматическ(?:ий|ое) (?:ответ|сообщение))',
      unattended:
        'этот номер не принимает .*|(?:пожалуйста )?не отвечайте на (?:это сообщение|него|данное сообщение)',
      subject: 'автоответ|автоматический ответ|автоматическое уведомление об отсутствии|автоответчик',
      away: '(?:я )?(?:нет на работе|вне офиса|в отпуске|отсутствую)',
      absent: 'отпуск|отсутствие(?: на рабочем месте)?',
    },
    reaction: {
      love: 'полюбил\\p{L}*|обожа\\p{L}*|сердце|сердц\\p{L}*|сердечк\\p{L}*|любит',
      like: 'понравил\\p{L}*|нравится|лайк\\p{L}*|палец',
      dislike: 'дизлайк\\p{L}*',
      laugh: 'посме\\p{L}*|смех\\p{L}*|сме[её]т\\p{L}*|рассм\\p{L}*|засме\\p{L}*|смеял\\p{L}*',
      emphasize:
        'выделил\\p{L}*|выделен\\p{L}*|подчеркну\\p{L}*|подч[её]ркнут\\p{L}*|отмечен\\p{L}*|восклицательн\\p{L}*|акцент\\p{L}*',
      question: 'вопрос\\p{L}*|вопросительн\\p{L}*|усомнил\\p{L}*',
      removed: 'удалил\\p{L}*|убрал\\p{L}*|убран\\p{L}*|удал[её]н\\p{L}*|снял\\p{L}*|отменил\\p{L}*',
      reacted: 'отреагировал\\p{L}*|реакци\\p{L}*|реагиру\\p{L}*',
      sticker: 'стикер\\p{L}*|наклейк\\p{L}*',
      file: 'изображени\\p{L}*|фото\\p{L}*|картинк\\p{L}*|видео\\p{L}*|вложени\\p{L}*|файл\\p{L}*|аудио\\p{L}*',
      not: 'не',
      very: 'очень',
      other:
        'на|над|с|со|к|от|из|у|в|во|и|знак\\p{L}*|поставил\\p{L}*|поставлен\\p{L}*|о|об|за|вам|пользовател\\p{L}*|сообщени\\p{L}*|отметк\\p{L}*|отметил\\p{L}*|задал\\p{L}*|\\d+|добавил\\p{L}*',
    },
  },
};

const ALL = LANGUAGE_CODES.map((code) => LANGUAGES[code]);

/** An alternative of all languages, as the source of a regular expression. */
export const inAllLanguages = (phrase: (language: Language) => string): string =>
  `(?:${[...new Set(ALL.map(phrase))].join('|')})`;
