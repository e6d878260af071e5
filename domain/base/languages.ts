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
  /** The words of a greeting, before the name. */
  greeting: string;
  /** Thanks, which change nothing about a keyword beside them. Without punctuation. */
  thanks: string;
  /**
   * Sentences that a phone sends for somebody who drives, or who receives no notifications, and how an automatic text begins; how
   * mail programs begin the subject of an automatic reply, and what people write there who are away.
   */
  automatic: {
    silenced: string;
    driving: string;
    later: string;
    label: string;
    subject: string;
    away: string;
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
    sentFrom: 'sent (?:from|via|with|using|by)|get outlook|shared via|typed (?:on|with)',
    closing:
      '(?:many |with )?thanks(?: again| so much| and (?:best |kind )?regards| in advance)?|thank you|thx|cheers|best|(?:with )?(?:best |kind |kindest |warm |warmest )?regards|(?:with )?best wishes|all the best|sincerely(?: yours)?|yours(?: truly| sincerely| faithfully)?|respectfully|cordially|take care|love',
    greeting:
      'hi|hiya|hello|hey|dear|good (?:morning|afternoon|evening|day)|greetings|to whom it may concern',
    thanks: '(?:many )?thanks(?: a lot| so much| again)?|thank ?you(?: so much| very much)?|thx|tnx|cheers',
    automatic: {
      silenced:
        '(?:i (?:am|have|m|ve|currently have)|my phone is|notifications are|this phone) .*(?:do not disturb|dont disturb|focus|notifications?(?: are)? silenced|driving mode).*|(?:my |i have |i ve )?(?:my )?notifications (?:are |have been )?(?:currently )?(?:silenced|muted|turned off|switched off|off)',
      driving:
        'i (?:am|m) (?:currently |now )?driving(?: right now| at the moment| and can t text| and unable to (?:text|reply|respond))?',
      later:
        'i (?:will|ll) (?:see|read|check|reply to|get back to) (?:your |you)(?:message|text)?s?.*(?:where i m going|where i am going|arrive|done driving|stop driving|not driving|later)|i (?:am|m) not receiving notifications|if this is urgent reply urgent.*|i (?:will|ll) (?:reply|respond|get back to you) (?:later|when i (?:arrive|can|stop).*)',
      subject:
        'auto(?:matic|mated)?[- ]?(?:reply|response)|vacation (?:reply|response|responder|message|notice)|auto: .{0,200}\\(returning',
      away: '(?:i am |i.m )?(?:currently )?(?:out of|away from) (?:the |my )?(?:office|desk)|ooo|(?:i am |i.m )?(?:currently )?on (?:vacation|holidays?|(?:annual |sick |parental |maternity |paternity )?leave)|vacation',
      label:
        '(?:(?:this is an |this message was )?auto(?:matic|mated|matically)?[ -]?(?:reply|response|text|message|sent)|sent automatically|out of office)',
    },
    reaction: {
      love: 'loved|hearted|heart|hearts',
      like: 'liked|like|thumbs',
      dislike: 'disliked|dislike',
      laugh: 'laughed|laugh|haha',
      emphasize: 'emphasi[sz]ed|exclamations?|emphasis',
      question: 'questioned|question',
      removed: 'removed',
      reacted: 'reacted|reaction',
      sticker: 'sticker',
      file: 'images?|photos?|pictures?|movies?|videos?|attachments?|files?|audio|gif|document|pdf|animation|contact|card|location|link|memo|voice|stickers?',
      not: 'not',
      other: 'an?|at|to|from|with|by|up|marks?|points?|message|\\d+',
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
      'von (?:meinem|meiner|unterwegs|mobil)|gesendet (?:von|mit|über|aus|per)|diese (?:nachricht|e-mail) wurde von|holen sie sich outlook',
    closing:
      '(?:mit )?(?:freundlich(?:en|e|em)|best(?:en|e)|lieb(?:en|e)|herzlich(?:en|e)|schöne[nr]?|viele[nr]?|sonnige[nr]?) (?:dank und )?(?:grü(?:ß|ss)en?|gruß|gruss)|(?:viele |schöne |liebe |beste )?(?:grüße|grüsse|gruß|gruss)|mfg|lg|vg|hochachtungsvoll|(?:vielen |herzlichen |besten )?dank|danke(?: schön| sehr| und (?:grüße|gruß))?',
    greeting: 'hallo|hi|guten (?:tag|morgen|abend)|liebe[rs]?|sehr geehrte[rs]?|servus|moin|grüezi|grüß gott',
    thanks: 'danke(?: schön| sehr)?|dankeschön|(?:vielen |besten |herzlichen )?dank',
    automatic: {
      silenced:
        '(?:ich (?:habe|fahre)|mitteilungen sind|benachrichtigungen sind) .*(?:nicht stören|fokus|mitteilungen|benachrichtigungen).*(?:aktiviert|eingeschaltet|stumm\\p{L}*|aktiv|ein)|ich fahre .*(?:aktiviert|eingeschaltet).*(?:nicht stören|fokus).*|(?:meine |die )?(?:mitteilungen|benachrichtigungen) sind (?:gerade |derzeit )?(?:stumm\\p{L}*|aus(?:geschaltet)?|deaktiviert)',
      driving: 'ich fahre(?: gerade| im moment)?(?: auto)?|ich bin (?:gerade )?am steuer',
      later:
        'ich (?:sehe|lese|antworte|melde|werde)(?: mir)? .*(?:angekommen|ankomme|am ziel|später|sobald).*|ich erhalte keine (?:mitteilungen|benachrichtigungen).*|wenn es dringend ist.*|antworte mit dringend.*',
      subject:
        'automatische (?:e-?mail-)?antwort|autom\\. antwort|automatische abwesenheit|abwesenheits(?:notiz|meldung|nachricht|agent|assistent|benachrichtigung)',
      away: '(?:ich bin )?(?:derzeit |aktuell |bis [^:]{1,20} |vom [^:]{1,30} )?nicht im (?:büro|haus)|abwesend|abwesenheit|außer haus|(?:ich bin )?(?:derzeit |aktuell )?im urlaub',
      label:
        '(?:(?:dies|das) ist eine automatische|automatische (?:antwort|nachricht)|abwesenheitsnotiz|autoantwort)',
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
      other:
        'hat|haben|ein|eine|einen|einem|einer|das|die|den|der|dem|von|vom|über|auf|mit|mir|bei|zu|zum|für|hervor|hoch|runter|stellt|stellte|gestellt|in|an|als|ist|es|sich|markiert|findet|fand|\\d+',
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
      "(?:bien |très )?(?:cordialement|amicalement|sincèrement|respectueusement)(?: vôtre)?|(?:bien )?à (?:vous|toi)|(?:meilleures |sincères |cordiales )?salutations(?: distinguées| cordiales)?|merci(?: beaucoup| d[’']avance| bien)?|bonne (?:journée|soirée)|belle journée|cdlt|cdt",
    greeting: 'bonjour|bonsoir|salut|ch[eè]re?s?|madame|monsieur',
    thanks: 'merci(?: beaucoup| bien| d avance)?',
    automatic: {
      silenced:
        '(?:je (?:conduis|suis|ne reçois|n ai)|j ai|mes notifications|la fonction|les notifications) .*(?:ne pas déranger|concentration|notifications).*|(?:mes|les) notifications sont (?:désactivées|coupées|en sourdine|silencieuses)',
      driving: 'je (?:conduis|suis au volant|suis en train de conduire)(?: actuellement| en ce moment)?',
      later:
        'je (?:verrai|lirai|consulterai|répondrai à) (?:votre|ton|vos) messages?.*|je vous répondrai .*|je ne reçois pas (?:les|de) notifications.*|(?:si c est|en cas d) urgen.*',
      subject: 'réponse automatique|rép(?:onse)?\\.? auto|(?:message|notification|réponse) d.absence',
      away: 'absente?(?:\\(e\\))? du bureau|absence du bureau|absence|en congés?|en vacances',
      label:
        '(?:(?:ceci|c’est|c.est) (?:est )?un(?:e réponse| message) automatique|réponse automatique|message automatique|absence du bureau)',
    },
    reaction: {
      love: 'adoré|adore|adorait|cœur|coeur',
      like: 'aimé|aime|pouce',
      dislike: 'désapprouvé|détesté|déplu',
      laugh: 'ri|rit|rigolé|rire|rires|rigole|haha',
      emphasize: 'insisté|insiste|souligné|souligne|évidence|exclamation|accentué|accentue|accent|exergue',
      question: 'question|interrogé|interrogée|interrogation|interroge|questionné|questionne',
      removed: 'retiré|retire|supprimé|supprime|enlevé|enlève|annulé',
      reacted: 'réagi|réagit|réaction',
      sticker: 'autocollant|sticker',
      file: 'image|images|photo|photos|vidéo|vidéos|film|films|pièces?|jointes?|fichiers?|audio|vocal',
      not: 'pas',
      other:
        'a|à|un|une|de|d|du|des|la|le|les|l|j|n|s|sur|avec|par|remis|remise|mis|mention|mise|posé|pose|est|été|en|au|aux|points?|ajouté|ajoute|ce|cette|message|haut|bas|votre|\\d+',
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
    sentFrom: 'enviado (?:desde|con|por|a través)|obten(?:er|ga|ed) outlook|descargar outlook',
    closing:
      '(?:un |muchos |cordiales |atentos |afectuosos )?(?:saludos?|abrazos?)(?: cordial(?:es)?| a todos)?|(?:un )?cordial saludo|atentamente|atte|muy atentamente|(?:muchas |mil )?gracias(?: de antemano| por todo)?|quedo atent[oa]|suyo',
    greeting: 'hola|buen[oa]s (?:d[ií]as|tardes|noches)|estimad[oa]s?|querid[oa]s?',
    thanks: '(?:muchas |mil )?gracias(?: de antemano)?',
    automatic: {
      silenced:
        '(?:estoy (?:conduciendo|manejando)|tengo|las notificaciones|mis notificaciones) .*(?:no molestar|modo de concentración|enfoque|notificaciones).*(?:activad\\p{L}*|silenciad\\p{L}*|encendid\\p{L}*)|(?:mis|las) notificaciones están (?:silenciadas|desactivadas|apagadas)',
      driving: '(?:estoy|voy) (?:conduciendo|manejando)(?: ahora(?: mismo)?| en este momento)?',
      later:
        '(?:veré|leeré|responderé|te responderé|le responderé|contestaré).*|no (?:estoy recibiendo|recibo) notificaciones.*|si es urgente.*',
      subject: '(?:respuesta|mensaje) autom[áa]tic[ao]',
      away: 'fuera de (?:la )?oficina|ausente de la oficina|ausente|ausencia(?: de la oficina)?|de vacaciones',
      label:
        '(?:(?:este es un|esta es una) (?:mensaje|respuesta) automátic[ao]|respuesta automática|mensaje automático|fuera de (?:la )?oficina)',
    },
    reaction: {
      love: 'encantó|encanta|amó|ama|corazón|encantado|corazones',
      like: 'gustó|gusta|gustado|pulgar',
      dislike: 'disgustó|disgusta',
      laugh: 'rió|rio|ríe|reído|risa|risas|reír|gracia|jaja|haha',
      emphasize: 'enfatizó|enfatiza|destacó|exclamó|exclamación|exclamaciones|subrayó|énfasis|resaltó',
      question: 'preguntó|cuestionó|pregunta|interrogación|interrogantes?|interrogó|dudó',
      removed: 'eliminó|quitó|retiró|removió|quitado|eliminado|borró',
      reacted: 'reaccionó|reaccionado|reacción|reacciona',
      sticker: 'pegatina|sticker|adhesivo',
      file: 'imagen|imágenes|fotos?|fotografía|videos?|vídeos?|películas?|archivos?|adjuntos?|audio',
      not: 'no',
      other:
        'le|se|ha|han|un|una|unos|el|la|los|las|de|del|en|con|a|al|por|me|te|lo|signos?|sobre|que|puso|hizo|dio|arriba|abajo|mensaje|este|\\d+',
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
      'enviado (?:do|de|da|pelo|com|a partir|por|via)|obter o outlook|obtenha o outlook|baixar o outlook',
    closing:
      'atenciosamente|att|cordialmente|(?:melhores |com os melhores )?cumprimentos|(?:um |grande )?abraços?|(?:muito )?obrigad[oa](?: desde já| pela atenção)?|saudações|grat[oa]',
    greeting: 'ol[áa]|oi|bom dia|boa (?:tarde|noite)|prezad[oa]s?|car[oa]s?|estimad[oa]s?',
    thanks: '(?:muito )?obrigad[oa]|grat[oa]|valeu',
    automatic: {
      silenced:
        '(?:estou (?:dirigindo|conduzindo|a conduzir)|tenho|as notificações|minhas notificações) .*(?:não (?:perturbe|perturbar|incomodar)|foco|concentração|notificações).*(?:ativad\\p{L}*|ligad\\p{L}*|silenciad\\p{L}*)|(?:as minhas |minhas |as )notificações estão (?:silenciadas|desativadas|desligadas)',
      driving: 'estou (?:dirigindo|conduzindo|a conduzir)(?: agora| neste momento| no momento)?',
      later:
        '(?:verei|vou ver|lerei|responderei) .*|não (?:estou recebendo|estou a receber|recebo) notificações.*|se for urgente.*',
      subject: '(?:resposta|mensagem) autom[áa]tica',
      away: 'fora do escrit[óo]rio|aus[êe]ncia(?: tempor[áa]ria)?|ausente do escrit[óo]rio|de férias',
      label:
        '(?:esta é uma (?:mensagem|resposta) automática|resposta automática|mensagem automática|fora do escritório|ausência temporária)',
    },
    reaction: {
      love: 'amou|ama|adorou|adora|coração|corações',
      like: 'gostou|gosta|gosto|curtiu|curtida|curtiram|polegar|joinha',
      dislike: 'descurtiu|desgostou|detestou',
      laugh: 'riu|graça|risada|risadas|rindo|riso|risos|rir|haha',
      emphasize: 'enfatizou|destacou|exclamação|exclamações|ênfase|realçou|sublinhou',
      question: 'questionou|perguntou|interrogação|pergunta|dúvida|duvidou',
      removed: 'removeu|retirou|tirou|apagou|eliminou|removido',
      reacted: 'reagiu|reação|reage',
      sticker: 'figurinha|autocolante|adesivo|sticker',
      file: 'imagem|imagens|fotos?|fotografia|vídeos?|videos?|filmes?|anexos?|arquivos?|ficheiros?|áudio',
      not: 'não|nao',
      other:
        'um|uma|uns|umas|o|a|os|as|de|do|da|dos|das|em|no|na|com|à|ao|às|se|ponto|sinal|por|sobre|que|você|colocou|deu|achou|uma|mensagem|esta|\\d+',
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
      '(?:cordiali |distinti |i migliori |un caro |tanti )?salut[io](?: cordiali| e grazie)?|cordialmente|(?:molte |mille |tante )?grazie(?: mille| e .{1,20}| in anticipo)?|a presto|buona giornata|in fede',
    greeting: 'ciao|salve|buon ?giorno|buona ?sera|gentil(?:e|issim[oai])|egregi[oa]|car[oaie]',
    thanks: '(?:molte |tante )?grazie(?: mille)?',
    automatic: {
      silenced:
        '(?:sto guidando|ho|le notifiche|sono) .*(?:non disturbare|full immersion|concentrazione|notifiche).*(?:attiv\\p{L}*|abilitat\\p{L}*|silenziat\\p{L}*|disattivat\\p{L}*)|ho (?:silenziato|disattivato) le notifiche.*|le notifiche sono (?:silenziate|disattivate)',
      driving: '(?:sto guidando|sono alla guida)(?: in questo momento| adesso| ora)?',
      later:
        '(?:vedrò|leggerò|risponderò|ti risponderò|le risponderò) .*|non (?:ricevo|sto ricevendo) (?:le )?notifiche.*|se è urgente.*',
      subject: '(?:risposta|messaggio) automatic[ao]',
      away: 'fuori (?:sede|ufficio)|assen(?:te|za)(?: dall.ufficio)?|in ferie',
      label:
        '(?:questo è un messaggio automatico|questa è una risposta automatica|risposta automatica|messaggio automatico|fuori sede|fuori ufficio)',
    },
    reaction: {
      love: 'amato|ama|adorato|adora|cuore|cuori',
      like: 'piaciuto|piaciuta|piace|apprezzato|apprezza|pollice',
      dislike: 'disapprovato|dispiaciuto',
      laugh: 'riso|ride|risata|risate|ridere|riso|haha',
      emphasize:
        'enfatizzato|enfatizza|evidenziato|evidenzia|esclamativo|esclamativi|esclamazione|sottolineato|enfasi|rilievo',
      question: 'domanda|interrogativo|interrogativi|domandato|chiesto|dubbio|dubbi|contestato|interrogato',
      removed: 'rimosso|rimossa|tolto|eliminato|ritirato',
      reacted: 'reagito|reazione|reagisce',
      sticker: 'adesivo|sticker',
      file: 'immagine|immagini|foto|video|filmato|filmati|allegato|allegati|file|audio',
      not: 'non',
      other:
        'ha|un|una|uno|il|lo|la|gli|le|di|del|dello|della|da|dal|dallo|dalla|a|ad|al|allo|alla|all|dell|dall|su|sul|sulla|con|è|e|mi|ti|punto|punti|per|in|l|d|fatto|posto|messo|aggiunto|espresso|che|giù|\\d+',
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
      '(?:met )?(?:vriendelijke|hartelijke|beste|warme) (?:groet(?:en|jes)?|dank)|(?:hartelijke |veel |beste )?groet(?:en|jes)?|mvg|hoogachtend|bedankt|dank(?: u| je)?(?: wel)?|alvast bedankt|dankjewel|dankuwel',
    greeting: 'hallo|hoi|goede(?:morgen|middag|navond|ndag)|beste|geachte|lieve',
    thanks: '(?:alvast |hartelijk )?bedankt|dank(?: je| u)?(?: wel)?|dankjewel|dankuwel',
    automatic: {
      silenced:
        '(?:ik (?:zit|heb|rijd|rij|ben)|meldingen zijn) .*(?:niet storen|focus|meldingen).*(?:ingeschakeld|aan|uitgeschakeld|uit|gedempt|staan)|(?:mijn )?meldingen (?:zijn|staan) (?:gedempt|uitgeschakeld|uit)',
      driving:
        'ik (?:rijd|rij|ben aan het rijden|zit achter het stuur|zit in de auto)(?: nu| op dit moment| momenteel)?',
      later:
        'ik (?:bekijk|zie|lees|reageer|antwoord) .*|ik ontvang geen meldingen.*|als (?:het|dit) dringend is.*',
      subject:
        'automatische? (?:antwoord|reactie|bericht|beantwoording)|afwezigheids(?:bericht|melding|assistent)',
      away: 'afwezig|niet (?:aanwezig|op kantoor)|buiten kantoor|(?:met|op) vakantie',
      label: '(?:dit is een automatisch|automatisch (?:antwoord|bericht)|afwezigheidsbericht|afwezig)',
    },
    reaction: {
      love: 'geweldig|hart|hartje|liefde|hield|houdt|prachtig',
      like: 'leuk|duim|vind-ik-leuk',
      dislike: 'afgekeurd|stom',
      laugh: 'lachte|gelachen|lacht|lachen|lach|grappig|haha',
      emphasize: 'benadrukte|benadrukt|uitroepteken|uitroeptekens|nadruk',
      question:
        'vraagteken|vraagtekens|vroeg|vraagt|bevraagd|betwijfelt|betwijfelde|vraag|twijfelt|twijfelde',
      removed: 'verwijderde|verwijderd|verwijdert|weggehaald|weg',
      reacted: 'reageerde|gereageerd|reactie|reageert',
      sticker: 'sticker',
      file: 'afbeelding|afbeeldingen|foto|video|film|bijlage|bijlagen|bestand|bestanden|audio|audiobericht',
      not: 'niet',
      other:
        'vond|vindt|vind|gevonden|ik|van|om|een|het|de|met|op|bij|heeft|is|dat|dit|er|aan|over|legde|haalde|plaatste|zette|omhoog|omlaag|bericht|als|gemarkeerd|\\d+',
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
      '(?:med )?(?:venlig|venlige|kærlig|kærlige|mange|de bedste|bedste) hilsen(?:er)?|(?:mange |kærlig |venlig )?hilsen|mvh|vh|kh|(?:mange |på forhånd )?tak(?: for hjælpen)?|tusind tak',
    greeting: 'hej|goddag|god (?:morgen|aften)|kære|hejsa',
    thanks: '(?:mange |tusind )?tak',
    automatic: {
      silenced:
        '(?:jeg (?:kører|har)|notifikationer er|meddelelser er) .*(?:forstyr ikke|fokus|notifikationer|meddelelser).*(?:slået|aktiveret|til|fra|lydløs)|(?:mine )?(?:notifikationer|meddelelser) er (?:slået fra|lydløse|deaktiveret)',
      driving: 'jeg kører(?: bil| lige nu| i øjeblikket)*',
      later:
        'jeg (?:ser|læser|svarer) .*|jeg modtager ikke (?:notifikationer|meddelelser).*|hvis det haster.*',
      subject: 'autosvar|automatisk (?:svar|besked)',
      away: 'ikke på kontoret|fraværende|på ferie',
      label: '(?:autosvar|automatisk svar|ikke på kontoret)',
    },
    reaction: {
      love: 'elskede|elsker|hjerte|hjerter',
      like: 'godt|lide|likede|tommel|tommelfinger',
      dislike: 'dårligt',
      laugh: 'grinede|griner|grinte|lo|ler|grin|latter|haha',
      emphasize: 'fremhævede|fremhæver|understregede|understreger|udråbstegn|betonede',
      question: 'spurgte|spørger|spørgsmålstegn|spørgsmål|betvivlede',
      removed: 'fjernede|fjerner|fjernet|slettede',
      reacted: 'reagerede|reagerer|reaktion',
      sticker: 'mærkat|sticker|klistermærke',
      file: 'billede|billeder|foto|fotos|video|videoer|film|vedhæftning|bilag|fil|filer|lydbesked|lyd',
      not: 'ikke',
      other:
        'et|en|den|det|ad|til|fra|på|med|om|ved|synes|syntes|kunne|kan|har|satte|sætter|stillede|stiller|af|op|ned|over|\\d+',
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
    sentFrom: 'skickat (?:från|med|via)|skickades från|hämta outlook|skaffa outlook',
    closing:
      '(?:med )?(?:vänlig|vänliga|bästa|hjärtliga|varma|många) hälsning(?:ar)?|(?:bästa |varma )?hälsningar|hälsn|mvh|vh|hälsar|(?:tack|stort tack|många tack)(?: på förhand| så mycket)?',
    greeting: 'hej|hejsan|god (?:morgon|kväll|dag)|bästa|kära',
    thanks: '(?:stort |många )?tack(?: så mycket)?',
    automatic: {
      silenced:
        '(?:jag (?:kör|har)|notiser är|aviseringar är) .*(?:stör ej|stör inte|fokus|notiser|aviseringar).*(?:på|påslag\\p{L}*|aktiver\\p{L}*|ljudlös\\p{L}*|tyst\\p{L}*|av)|(?:mina )?(?:notiser|aviseringar) är (?:avstängda|tystade|ljudlösa)',
      driving: 'jag kör(?: bil| just nu| för tillfället)*',
      later:
        'jag (?:ser|läser|svarar|läser) .*|jag får inga (?:notiser|aviseringar).*|om det är brådskande.*',
      subject: 'autosvar|automatiskt svar|frånvaromeddelande',
      away: 'frånvarande|frånvaro|inte på kontoret|på semester',
      label: '(?:autosvar|automatiskt svar|frånvaro)',
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
      other: 'ett|en|om|från|på|åt|med|till|tog|tar|tagit|har|av|för|upp|ned|ner|\\d+',
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
      '(?:z )?(?:poważaniem|wyrazami szacunku|pozdrowieniami)|(?:serdecznie |ciepło )?pozdrawiam(?: serdecznie)?|(?:serdeczne |najlepsze )?pozdrowienia|pozdr|(?:bardzo |z góry |serdecznie )?dziękuję(?: bardzo| z góry| i pozdrawiam)?|dzięki(?: wielkie)?',
    greeting: 'cześć|dzień dobry|dobry wieczór|witam|szanown[yaie]+|drog[iae]|hej',
    thanks: '(?:bardzo )?dzi[ęe]kuj[ęe](?: bardzo)?|dzi[ęe]ki(?: wielkie)?',
    automatic: {
      silenced:
        '(?=.*(?:nie przeszkadzać|skupieni|powiadomieni))(?=.*(?:włącz|wycisz|aktywn))(?:prowadzę|mam|powiadomienia są) .*',
      driving: '(?:prowadzę|kieruję)(?: teraz| właśnie)?(?: samochód| samochodem| pojazd| auto)?',
      later: '(?:zobaczę|przeczytam|odpiszę|odpowiem) .*|nie otrzymuję powiadomień.*|jeśli to pilne.*',
      subject: 'odpowiedź automatyczna|automatyczna odpowiedź|autoodpowiedź',
      away: 'poza biurem|nieobecność|nieobecn[ya]|na urlopie',
      label: '(?:odpowiedź automatyczna|automatyczna odpowiedź|autoodpowiedź|poza biurem)',
    },
    reaction: {
      love: 'pokochał|pokochała|uwielbia|uwielbiam|serce|serca|serduszko|kocha',
      like: 'polubiono|lubiane|lubiany|lubiana|polubił|polubiła|polubił\\(a\\)|lubi|podoba|podobało|polubienie|kciuk|kciuka',
      dislike: 'znielubił|znielubiła',
      laugh: 'śmieje|zaśmiał|zaśmiała|roześmiał|roześmiała|śmiech|śmiał|śmiała|rozbawiło|śmiechu|haha',
      emphasize: 'podkreśl\\p{L}*|wyróżni\\p{L}*|wykrzyknik|wykrzyknika|podkreślenie',
      question: 'zakwestionował|zakwestionowała|zapytał|zapytała|pytajnik|pyta|pytanie|zapytania',
      removed: 'usunął|usunęła|usunięto|usuń|cofnął|cofnęła',
      reacted: 'zareagował|zareagowała|reakcja|reakcję|reakcji|reaguje',
      sticker: 'naklejka|naklejkę|naklejką',
      file: 'obraz|obrazu|obrazek|zdjęcie|zdjęcia|zdjęciu|film|filmu|wideo|załącznik|załącznika|plik|pliku|nagranie',
      not: 'nie',
      other:
        'się|dodano|dodał|dodała|oznaczono|oznaczył|oznaczyła|z|ze|na|do|od|w|mu|jej|jest|znak|znaku|za|o|to|jako|ku|pomocą|\\d+',
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
      '(?:以上、?)?(?:どうぞ)?(?:よろしく|宜しく)(?:お願い(?:いた|致)?します|お願い申し上げます|お願いします)?|敬具|草々|ありがとうございま(?:す|した)|ありがとう|失礼(?:いた)?します',
    greeting:
      'こんにちは|こんばんは|おはようございます|お世話になって(?:おり|い)ます|.{1,20}(?:様|さん|さま)',
    thanks: 'ありがとう(?:ございます|ございました)?|どうも|お願いします|よろしくお願いします',
    automatic: {
      silenced: '.*(?:おやすみモード|集中モード|通知).*(?:オン|設定|停止|オフ|消音).*',
      driving: '(?:現在|今)?、?(?:車を)?運転中です?',
      later:
        '.*(?:到着|後ほど|後で|運転が終わ).*(?:確認|返信|連絡|読み).*|.*通知を受け取って(?:いません|おりません).*|.*緊急の場合.*',
      subject: '自動(?:返信|応答)|不在通知',
      away: '不在|休暇中|外出中',
      label: '(?:自動返信|自動応答|不在通知)',
    },
    reaction: {
      love: 'ハート|大好き|愛|ラブ|好き',
      like: 'いいね|高評価|グッド|お気に入り|気に入',
      dislike: 'よくない|よくないね|嫌い|低評価|イマイチ|いまいち|バッド',
      laugh: '笑|ウケ|爆笑|ハハ|おもしろい|面白い',
      emphasize: '強調|感嘆符|びっくりマーク|ビックリマーク',
      question: '疑問符|疑問|質問|はてな|ハテナ',
      removed: '削除|取り消|取消|外|消去|解除',
      reacted: 'リアクション|反応',
      sticker: 'ステッカー|シール',
      file: '画像|写真|ビデオ|動画|添付ファイル|ファイル|音声|イメージ|ムービー|書類',
      not: '(?!)',
      other: 'マーク|[ぁ-んー]|表|付|送|メッセージ|中|人',
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
      '(?:发|發)自|(?:从|從)我的.{1,40}(?:发送|傳送|发出)|获取.{0,10}outlook|取得.{0,10}outlook|来自我的',
    closing:
      '此致(?:敬礼|敬禮)?|敬礼|敬祝|祝好|顺祝商祺|順頌商祺|谢谢[您你]?|謝謝[您你]?|感谢|感謝|致敬|敬上',
    greeting: '你好|您好|大家好|早上好|下午好|晚上好|尊敬的|亲爱的|親愛的',
    thanks: '谢谢[您你]?|謝謝[您你]?|感谢|感謝|多谢|多謝',
    automatic: {
      silenced:
        '.*(?:勿扰|勿擾|请勿打扰|專注模式|专注模式|通知).*(?:开启|開啟|打开|静音|靜音|已开|已開|關閉|关闭).*',
      driving: '.*(?:正在|在)(?:开车|開車|驾驶|駕駛).*',
      later:
        '.*(?:到达|到達|抵达|抵達|稍后|稍後).*(?:查看|回复|回覆|看).*|.*(?:收不到|没有收到|不会收到|未接收)通知.*|.*(?:紧急|緊急).*',
      subject: '自动(?:回复|答复|回覆)|自動(?:回覆|回复|答覆)',
      away: '外出|不在办公室|不在辦公室|休假中',
      label: '(?:自动回复|自動回覆|自动答复|外出)',
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
        '了|对|對|将|將|从|從|的|一|个|個|张|張|段|份|用|以|表示|给|給|中|在|上|条|條|則|则|信息|訊息|消息|讯息|进行|進行|為|为|已|向|使用|添加|加|你|我|他|她|覺得|觉得|很|标记|標記|来|來|表达|表達',
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
      'с (?:уважением|наилучшими пожеланиями|приветом|любовью)|всего (?:доброго|хорошего|наилучшего)|(?:большое )?спасибо(?: большое| заранее)?|заранее (?:спасибо|благодарю)|благодарю|искренне ваш[аи]?',
    greeting:
      'здравствуйте|привет|добр(?:ый|ое|ой) (?:день|утро|вечер)|уважаем(?:ый|ая|ые)|дорог(?:ой|ая|ие)',
    thanks: '(?:большое )?спасибо(?: большое| заранее)?|благодарю',
    automatic: {
      silenced:
        '(?=.*(?:не беспокоить|фокусирован|уведомлени|за рул[её]м|вождени))(?=.*(?:включ|отключ|без звука|заглуш))(?:я за рул[её]м|у меня|уведомления) .*',
      driving: 'я (?:сейчас )?(?:за рулем|за рулём|еду|веду машину)',
      later: 'я (?:увижу|прочитаю|прочту|отвечу) .*|я не получаю уведомлени\\p{L}*.*|если это срочно.*',
      subject: 'автоответ|автоматический ответ|автоматическое уведомление об отсутствии',
      away: 'нет на работе|вне офиса|в отпуске|отсутствую',
      label: '(?:автоответ|автоматический ответ|нет на работе)',
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
        'на|над|с|со|к|от|из|у|в|во|и|знак\\p{L}*|поставил\\p{L}*|поставлен\\p{L}*|о|об|за|вам|пользовател\\p{L}*|сообщени\\p{L}*|отметк\\p{L}*|отметил\\p{L}*|задал\\p{L}*|\\d+',
    },
  },
};

const ALL = LANGUAGE_CODES.map((code) => LANGUAGES[code]);

/** An alternative of all languages, as the source of a regular expression. */
export const inAllLanguages = (phrase: (language: Language) => string): string =>
  `(?:${[...new Set(ALL.map(phrase))].join('|')})`;
