import { ownText } from '../inbox/own-words.ts';
import { normalize } from '../base/text.ts';

/**
 * Detects replies in which somebody clearly asks to be left alone in other words than the keywords of `optOutKeyword`: to
 * stop writing, to be taken off a list, or that the number is the wrong one. A guess: a person decides. Measured on a
 * labelled set (docs/compliance.md).
 */
export function asksToBeLeftAlone(text: string): boolean {
  const own = ownText(text, MAX_LENGTH);
  if (own === null) return false;
  const whole = plain(own);
  if (KEEPS.test(whole)) return false;
  if (RULES.some(({ asks, unless }) => asks.test(whole) && !unless?.test(whole))) return true;
  const last = plain(own.split(/[.!?;\n]+/).findLast((sentence) => plain(sentence) !== '') ?? '');
  return BARE.test(last);
}

/** What they want to end is another address than the one they write from. */
const KEEPS =
  /\bkeep this (?:one|number)\b|\bbut keep (?:text|messag|writ|call)\w*|(?<!dont |do not |never )\buse this (?:one|number|address)(?: instead)?$/;

/** A longer reply is a conversation. */
export const MAX_LENGTH = 300;

/** Lower case, without accents and punctuation; `don't` is `dont`, `m'envoyer` is `m envoyer`. */
export function plain(text: string): string {
  return normalize(text, 'NFKD', 4 * MAX_LENGTH)
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('#', ' number ')
    .replaceAll(/n['’`]t\b/g, 'nt')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** A last sentence that is nothing but a request to stop. */
const BARE =
  /^(?:ok |yes |hello |hey |hi |reply |text |send |please |pls |plz |bitte |por favor |porfa |per favore |alstublieft |alsjeblieft |just |so |no |now )*(?:stop|sotp|stpo|tsop|stopp(?:en)?|parad?|paren?|pare[im]?|parar|parem|alto|baja|detener|cancelar|sair|desinscrever|arretez?|arret(?:er)?|annuler|cessez|basta|smettetela|smettila|cancellami|hort auf|hor auf|horen sie auf|hou op)(?: it| this| that| now| please| pls| plz| thx| already| ja| ya| com isso| ca| maintenant| subito| cosi| jetzt| nu| hiermee| ermee| bitte| svp| aub| a u b| alstublieft| alsjeblieft| por favor| porfa| per favore| s il (?:vous|te) plait| prosze| venligst| tack| пожалуиста)*$/;

interface Rule {
  asks: RegExp;
  unless?: RegExp;
}

const any = (...words: string[]): string => `(?:${words.join('|')})`;
const rule = (asks: string, unless?: string): Rule => ({
  asks: new RegExp(`\\b${asks}`),
  ...(unless !== undefined && { unless: new RegExp(unless) }),
});

/** The maximum number of words in between. */
const words = (max: number): string => String.raw`(?: \w+){0,${max}}?`;

const CONTACTING = any(
  'text(?:s|ing)?',
  'txt(?:s|ing)?',
  'messag(?:e|es|ing)',
  'msg(?:s|ing)?',
  'contact(?:ing)?',
  'e ?mail(?:s|ing)?',
  'call(?:s|ing)',
  'spam(?:s|ming)?',
  'bother(?:ing)?',
  'harass(?:ing)?',
  'asking',
  'reaching out',
  'writing',
);
const NOT = any('dont', 'do not', 'never', 'dont ever', 'please dont');

const ENGLISH: Rule[] = [
  rule('(?:wish|want|like) to be (?:removed|unsubscribed|taken off)'),
  rule('dont want to (?:receive|get) (?:these|this|them|any|your)\\b', 'order|file|invoice'),
  rule('did not (?:sign up|subscribe)'),
  rule(
    'report(?:ed|ing)?(?: you| this)? (?:as|for) spam|(?:ill|i ll|i will|going to|gonna) report (?:you|this)|block(?:ing|ed) (?:you|this number)',
  ),
  rule('(?:delete|erase|remove|wipe) (?:all )?my (?:personal )?(?:data|details|information|records?)\\b'),
  rule('take my number off$|where did you get my (?:number|email).*(?:remove|delete|stop)'),
  rule(
    '^stop (?:sms|pub|msgs?|messages?|texts?)$|^stop ?(?:to|2) ?\\w+$|(?:not interested|no thanks?|no thank you) (?:please )?stop$',
  ),
  rule(
    `${any('stop', 'quit', 'cease', 'discontinue', 'refrain from', 'enough with', 'done with')}${words(4)} ${CONTACTING}\\b`,
    String.raw`\b(?:dont|cant|wont|never|ever|not) (?:ever )?stop(?! \w+ing me)\b(?<!if you dont stop)|calling it\b`,
  ),
  rule(String.raw`if you dont stop`),
  rule(`${CONTACTING} ${any('need to', 'have to', 'must', 'should')} (?:stop|end)\\b`),
  rule(`${CONTACTING} to (?:stop|end)\\b`),
  rule('make it stop$'),
  rule(`${any('stop', 'quit', 'cease')}${words(1)} all communication`),
  rule('cease and desist'),
  rule(
    `${NOT}(?: ever| again)? ${any('text', 'txt', 'message', 'msg', 'contact', 'e ?mail', 'hit', 'disturb', 'write')}(?: to)? ${any('me', 'us', 'this', 'my', 'again', 'anymore', 'back')}\\b`,
  ),
  rule(`${any('do not', 'dont')} (?:call or text|text or call)\\b`),
  rule(
    `${any('do not', 'dont')} disturb`,
    'while driving|disturb (?:mode|is on)|(?:turned|switched) on|silenced|enabled|activated',
  ),
  rule(
    `${any('do not', 'dont', 'never')} (?:send|reply)${words(2)} ${any('any more', 'more', 'anything', 'this stuff', 'these', 'texts?', 'messages?', 'again', 'just')}\\b`,
  ),
  rule(`and dont text back`),
  rule(
    `${any('dont', 'do not', 'no longer', 'not')} ${any('want', 'wish', 'like', 'wanna', 'need')}${words(4)} ${any('texts?', 'messages?', 'msgs?', 'e ?mails?', 'contacted', 'communications?')}\\b`,
  ),
  rule(
    `(?:rather not|not being|not be|dont) ${any('get', 'receive', 'contacted', 'texted', 'messaged')}(?: any| these| more|$| again)`,
  ),
  rule(`keep ${any('texting', 'messaging', 'e ?mailing', 'calling')} me\\b.*\\b(?:dont|stop|enough)\\b`),
  rule(
    String.raw`(?:unsub|un?s\w{0,4}cribe)\b(?! from (?!this|these|your|all|the list|any))(?! (?:\w+ ){0,2}other\b)`,
    'keep (?:texting|messaging|e ?mailing|writing|calling) me$|but keep (?:texting|messaging|e ?mailing|writing|calling)$',
  ),
  rule(
    'i (?:already |just |have |ve |keep |kept )*(?:said|say|saying|told (?:you|u)(?: to)?|asked (?:you|u) to|tell\\w* (?:you|u) to)(?: please| to)? stop$',
  ),
  rule('(?:quit|knock|cut) it(?: off| out)?$', String.raw`\bsmok|\bcan you\b`),
  rule(
    `stop sending${words(2)} ${any('these', 'this', 'them', 'those', 'that', 'stuff', 'anything', 'things')}\\b`,
    String.raw`\b(?:dont|never|not) (?:ever )?stop sending`,
  ),
  rule(String.raw`be unsubscribed`),
  rule(
    String.raw`opt(?: me| us| this number)? out\b(?! of (?!all|this|these|your|future|receiving|texts?|messages?|any))`,
  ),
  rule(
    `${any('take', 'get', 'remove', 'delete', 'erase', 'drop', 'scrub')} ${any('me', 'us', 'him', 'her', 'my', 'this', 'our')}\\b${words(4)} ${any('off', 'from', 'out')}${words(4)} ${any('lists?', 'database', 'system', 'contacts?', 'records?', 'files?', 'campaigns?', 'texts?', 'this', 'it')}\\b`,
  ),
  rule(String.raw`${any('remove', 'removed')} (?:me|us|him)\b`),
  rule(String.raw`please remove$|^(?:pls |please |kindly )?remove(?: pls| please)*$`),
  rule(
    `${any('delete', 'lose', 'erase', 'forget', 'remove')} ${any('my', 'this')}(?: phone| cell| mobile)? ${any('number', 'contact', 'info')}\\b`,
    String.raw`\bdont forget\b|number \d`,
  ),
  rule(`take (?:it|me) off(?: the list| your list)?$`),
  rule(
    String.raw`do not (?:call|contact) (?:list|registry)\b|do not contact$|^(?:please )?do not call$|dnc\b`,
  ),
  rule(String.raw`leave (?:me|us)(?: the \w+)? alone\b`),
  rule(
    String.raw`wrong (?:number|person|num|guy)\b(?! of\b)`,
    String.raw`\b(?:gave|typed|sent|shipped|dialed)\b|(?:invoice|order|earlier)`,
  ),
  rule(String.raw`(?:isnt|is not) \w+ s (?:number|phone)\b`),
  rule(
    String.raw`number (?:no longer|doesnt|does not)\b.*\bbelongs?\b|belongs to some(?:one|body) else|no longer belongs`,
  ),
  rule(String.raw`(?:nobody|no one|noone) (?:by that name|named|here)|there is no \w+ here`),
  rule(String.raw`(?:doesnt|does not|no longer) uses? this (?:phone|number)`),
  rule(`${any('revoke', 'withdraw')}(?: my)? (?:consent|permission)`),
  rule(
    String.raw`never ${any('gave', 'consented', 'signed up', 'agreed', 'opted in', 'subscribed')}\b(?! (?:birth|up))|didnt (?:sign up|subscribe)`,
  ),
  rule(String.raw`(?:dont|do not) have (?:my )?(?:consent|permission)`),
  rule(
    `${any('no more', 'no further', 'no future')} ${any('texts?', 'messages?', 'msgs?', 'e ?mails?', 'contact', 'communications?', 'calls')}\\b`,
    String.raw`\bthere (?:are|is|were|was)\b|\bare there\b`,
  ),
  rule(String.raw`no more(?: pls| please| of this)$|^no more$`),
  rule(`${any('cancel', 'end')}${words(3)} ${any('texts?', 'messages', 'alerts')}\\b`),
  rule(String.raw`if you (?:text|message|contact|e ?mail|call) me\b`),
  rule(String.raw`(?:text|message|contact) me again and\b|next (?:message|text) and\b`),
];

const SPANISH: Rule[] = [
  rule(
    '(?:elimin|borr)\\w+ mis datos|cancelar (?:la |mi )?suscripcion$|^no contactar$|^(?:por favor )?darse de baja$',
  ),
  rule(
    `${any('dej[aeo]n?', 'paren?', 'para', 'cesen?')} de ${any('escribir', 'enviar', 'mandar', 'llamar', 'molestar', 'contactar', 'hacer(?:me)? spam', 'textear')}`,
    String.raw`\bno (?:dejen?|deje|paren?) de\b`,
  ),
  rule(
    `${any('no', 'ni', 'nunca')} (?:me|nos) ${any('escrib\\w+', 'mand\\w+', 'envi\\w+', 'contact\\w+', 'molest\\w+', 'llam\\w+ ni')}${words(3)} mas\\b`,
  ),
  rule(`(?:ya|por favor) no me ${any('escrib\\w+', 'mand\\w+', 'envi\\w+', 'contact\\w+', 'llam\\w+')}`),
  rule(String.raw`no (?:me )?molest\w+ mas|no escriba[ns]? mas`),
  rule(
    `no (?:me )?(?:vuelvan?|vuelvas) a ${any('escribir', 'mandar', 'enviar', 'contactar', 'llamar')}|no me vuelv\\w+ a`,
  ),
  rule(
    `no (?:quiero|deseo|quisiera)${words(3)} ${any('mensajes?', 'sms', 'correos?', 'contacten', 'textos')}\\b`,
  ),
  rule(String.raw`no (?:me )?lleguen mas mensajes`),
  rule(
    `${any('darme', 'dame', 'dadme', 'deme', 'denme', 'dar', 'doy', 'solicito', 'me doy')}(?: de| la)* baja\\b`,
  ),
  rule(
    `${any('borr\\w+', 'elimin\\w+', 'quit\\w+', 'sa[cq]u?\\w+', 'retir\\w+')}${words(3)} (?:numero|contacto|lista|registros?|base)\\b`,
    String.raw`linea|cargo|articulo|factura`,
  ),
  rule(
    String.raw`(?:borrenme|borradme|eliminenme|eliminadme|eliminame|quitenme|quitadme|saquenme|sacadme|borrame|quitame|sacame)\b`,
  ),
  rule(
    String.raw`(?:ya )?(?:les|te|os|le) ?(?:he )?(?:dije|dicho|pedi) que (?:paren?|pares|parad|basta)$|ya dije que paren?$`,
  ),
  rule(String.raw`(?:numero|persona) (?:equivocad[oa]|incorrect[oa])`, String.raw`factura|pedido`),
  rule(String.raw`(?:se|te) equivoc(?:o|aste|aron|an) de (?:numero|persona)|esta equivocado este no es`),
  rule(String.raw`(?:numero|telefono) ya no (?:es|pertenece)`),
  rule(String.raw`aqui no (?:vive|hay)`),
  rule(String.raw`(?:dejen|deje|deja|dejenme|dejeme|dejame)(?: me)? (?:en paz|tranquil[oa])`),
  rule(
    `(?:basta|alto|no mas|suficientes?)(?: ya)?${words(2)} ${any('mensajes?', 'sms', 'correos?')}\\b|^no mas$`,
  ),
  rule(
    String.raw`(?:retiro|revoco) (?:mi|el) consentimiento|no autorizo|nunca (?:les |le |te )?(?:di|he dado) permiso`,
  ),
  rule(String.raw`desuscrib\w+|cancel\w+ (?:mi )?suscripcion a (?:estos|los|sus)`),
  rule(String.raw`si me vuelven? a escribir|los (?:denuncio|voy a denunciar)`),
];

const FRENCH: Rule[] = [
  rule('arret\\w* (?:les|vos|ces) (?:sms|messages|mails)|^stop (?:pub|sms)$'),
  rule(
    `${any('arretez', 'arrete', 'arreter', 'cessez', 'cesser')}(?: de| d)?${words(3)} ${any('envoy\\w+', 'ecri\\w+', 'contact\\w*', 'harcel\\w+', 'spam\\w*', 'appel\\w+', 'derang\\w+', 'message\\w*')}\\b`,
    String.raw`\bn arretez pas`,
  ),
  rule(
    `ne (?:m|me|nous) ?${words(1)}\\b${any('ecriv\\w+', 'contact\\w+', 'envoy\\w+', 'appel\\w+', 'derang\\w+')} plus`,
  ),
  rule(
    `ne plus (?:m|me|nous)?\\b${words(1)} ?${any('contacter', 'envoyer', 'deranger', 'ecrire', 'solliciter', 'appeler')}`,
  ),
  rule(
    `(?:veux|souhaite|desire)(?: pas)? plus${words(4)} ${any('messages?', 'sms', 'mails?', 'contacte?e?', 'rien recevoir', 'sollicite?e?')}\\b`,
  ),
  rule(String.raw`^plus de (?:messages?|sms|mails?)`),
  rule(String.raw`(?:me )?(?:desinscri\w+|desabonn\w+)\b`),
  rule(
    `${any('retir\\w+', 'enlev\\w+', 'supprim\\w+', 'effac\\w+', 'ray\\w+', 'oubli\\w+', 'perd\\w+')}(?: moi| mon| mes)${words(3)}(?: |$)${any('numero', 'listes?', 'coordonnees', 'base', 'fichiers?')}?`,
    String.raw`numero de commande|consentement|ligne|j ai perdu`,
  ),
  rule(
    `me (?:retirer|enlever|supprimer|rayer|effacer)${words(2)} (?:listes?|base|fichiers?|contacts)\\b(?! d attente)`,
  ),
  rule(
    String.raw`(?:mauvais|faux|erreur de) numero|mauvaise personne|pas le bon numero(?! de (?!telephone))`,
    'facture',
  ),
  rule(String.raw`tromp\w+ de (?:numero|personne)|vous faites erreur`),
  rule(String.raw`(?:n est|est) plus le numero|n appartient plus`),
  rule(String.raw`laiss\w+ (?:moi|nous) tranquille|(?:fich|fout)\w+ (?:moi|nous) la paix`),
  rule(String.raw`stop aux? (?:sms|messages?|spam)|arret\w+ le spam`),
  rule(String.raw`(?:retire|revoque) mon consentement|jamais donne mon accord|m oppose a`),
  rule(String.raw`(?:porte|porterai) plainte|harcelement`),
  rule(String.raw`(?:vous|t) ai (?:deja )?(?:dit|demande)(?: d)? (?:stop|arreter?|arretez)$`),
  rule(String.raw`mettez fin a|annul\w+ mon abonnement a (?:ces|vos|aux)`),
];

const GERMAN: Rule[] = [
  rule(
    'bitte (?:loschen|austragen)$|aus (?:dem|ihrem|eurem) verteiler|kontaktieren sie (?:mich|uns) (?:nie|nicht)',
  ),
  rule('^(?:bitte )?(?:stoppen sie|stoppt|stopp) (?:das|es|dies)\\b'),
  rule(
    `${any('schreib\\w*', 'schick\\w*', 'send\\w*', 'kontaktier\\w*', 'melde\\w*')}${words(5)} (?:nicht mehr|keine? \\w+ mehr|nichts mehr)\\b`,
  ),
  rule(`nicht mehr ${any('schreib\\w*', 'kontaktier\\w*', 'anschreib\\w*', 'melden')}`),
  rule(
    `keine? (?:weiteren? )?${any('nachrichten?', 'sms', 'mails?', 'werbung', 'kontaktaufnahmen?')}(?: mehr)?(?: bitte| an| senden| schicken| mehr|$)`,
    String.raw`bekommen|gekommen|habe (?:ich )?keine? nachricht`,
  ),
  rule(
    String.raw`(?:mochte|will|wunsche)(?: \w+){0,2}? keine? (?:weiteren? )?(?:nachrichten|sms|mails?|werbung|kontakt\w*)`,
  ),
  rule(String.raw`keine weiteren? (?:nachrichten|sms|mails?|kontakt\w*)`),
  rule(
    `(?:horen sie|hor|hort)(?: bitte)? auf (?:damit|mir|mich|uns|zu)\\b|horen sie auf$`,
    String.raw`nicht auf`,
  ),
  rule(
    String.raw`(?:melden sie mich|melde mich|meld mich)(?: \w+){0,3} ab\b|^abmelden|(?:mich|mochte|will) abmelden|melde ich mich ab|bitte abmelden`,
  ),
  rule(String.raw`austragen|trag\w* (?:sie )?mich(?: \w+){0,2} aus\b`),
  rule(
    String.raw`(?:nehmen sie|nehmt|nimm|streichen sie|streich|streicht|entfernen sie|entfernt|losch\w*(?: sie)?)(?: bitte)? (?:mich|meine (?:nummer|daten)|uns)`,
  ),
  rule(String.raw`meine (?:nummer|daten) (?:loschen|entfernen|streichen)`),
  rule(String.raw`falsche[nr]? (?:nummer|person)`, 'rechnung'),
  rule(String.raw`in der nummer geirrt|verwahlt`),
  rule(String.raw`(?:nicht mehr die nummer|gehort nicht mehr|hier gibt es kein)`),
  rule(String.raw`(?:lassen sie|lass|lasst) (?:mich|uns)(?: \w+)? in (?:ruhe|frieden)`),
  rule(String.raw`(?:widerrufe|widerspreche)\b|nie zugestimmt`),
  rule(String.raw`unterlassen sie`),
  rule(String.raw`schluss(?: jetzt)? mit`),
  rule(String.raw`belastigung|zeige (?:ich )?sie an|noch eine nachricht und|wenn sie mir noch einmal`),
  rule(String.raw`stopp\w* (?:sie )?(?:die|diese) (?:nachrichten|sms|mails)`),
  rule(String.raw`abbestellen|bestellen sie mich ab`),
  rule(String.raw`vergessen sie meine nummer`),
  rule(
    String.raw`(?:habe|hab|hatte) (?:doch |schon |bereits )*(?:stopp?|aufhoren|nein) gesagt$|gesagt (?:sie sollen|ihr sollt) aufhoren$`,
  ),
];

const PORTUGUESE: Rule[] = [
  rule(
    `${any('par[ae]m?', 'deix[ae]m?')} (?:de|com)(?: me)? ?${any('mandar', 'enviar', 'escrever', 'contactar', 'contatar', 'incomodar', 'ligar', 'o spam', 'spam')}`,
  ),
  rule(
    `nao (?:me|nos) ${any('mand\\w+', 'envi\\w+', 'contact\\w+', 'contat\\w+', 'escrev\\w+', 'perturb\\w+', 'incomod\\w+')}${words(2)} mais\\b`,
  ),
  rule(`nao (?:me )?(?:mand\\w+|envi\\w+) mais\\b|nao entrem? mais em contac?to`),
  rule(String.raw`nao me liguem? nem mand\w+`),
  rule(
    `nao (?:quero|desejo)${words(4)} ${any('mensagens', 'mensagem', 'sms', 'emails?', 'contac?tad[oa]')}\\b`,
  ),
  rule(String.raw`nao receber mais|cancelo essas mensagens`),
  rule(
    `${any('tir[ae]m?', 'retir[ae]m?', 'remov[ae]m?', 'exclu[ai]m?', 'exclua', 'apagu?[ae]m?', 'elimin[ae]m?')}${words(2)} (?:meu|me|meus|minha)?\\b${words(1)} ?(?:numero|contac?to|dados|lista|cadastro)\\b`,
    String.raw`linha|artigo|item`,
  ),
  rule(String.raw`me (?:tir[ae]|remov[ae]|exclu\w+)\b|sair (?:da lista|deste grupo)`),
  rule(String.raw`^(?:por favor )?(?:retire|remova|tire|exclua|apague) me$`),
  rule(String.raw`(?:eu )?(?:ja )?(?:disse|falei|pedi)(?: para| pra)? (?:pare|parar|parem)$`),
  rule(String.raw`cancelar (?:a )?inscricao|descadastr\w+`),
  rule(String.raw`(?:numero|pessoa) errad[oa]`, 'fatura'),
  rule(String.raw`errou o numero|enganou se no numero|(?:e|foi) engano`),
  rule(String.raw`nao e mais (?:o numero )?d[aeo]|aqui nao tem`),
  rule(String.raw`(?:me )?deixem?(?: me)? em paz|deixa em paz`),
  rule(String.raw`(?:chega de|sem mais|nao mais) mensage(?:m|ns)`),
  rule(String.raw`retiro o (?:meu )?consentimento|nunca autorizei|nao autorizo`),
  rule(String.raw`vou denunciar|assedio`),
  rule(String.raw`esqueca (?:o )?meu numero`),
];

const ITALIAN: Rule[] = [
  rule('annull\\w* (?:l |la )?(?:mia )?iscrizione', 'corso|evento|gara'),
  rule(
    `${any('smett\\w+')}(?: di)? ${any('mandar\\w*', 'scriver\\w*', 'contattar\\w*', 'inviar\\w*', 'disturbar\\w*', 'con')}`,
    String.raw`\bnon smett`,
  ),
  rule(`basta (?:con )?(?:questi |i |gli )?${any('messaggi', 'sms', 'mail', 'spam')}`),
  rule(
    `non (?:mi |ci |mandar\\w* |inviar\\w* )?${any('scriv\\w+', 'contatt\\w+', 'disturb\\w+', 'mandar?\\w*', 'inviat?\\w*')}${words(1)} piu\\b`,
  ),
  rule(String.raw`di non contattar\w+`),
  rule(
    `non (?:voglio|desidero|vorrei)${words(4)} ${any('messaggi', 'sms', 'e ?mail', 'contattat[oa]', 'niente da')}`,
  ),
  rule(String.raw`non ricevere piu`),
  rule(
    `${any('cancell\\w+', 'tog\\w+', 'rimuov\\w+', 'elimin\\w+')}(?: mi| il mio| i miei)?${words(2)} ?(?:lista|elenco|numero|dati|database)\\b`,
    String.raw`riga|articolo|ordine`,
  ),
  rule(
    String.raw`(?:cancell(?:ami|atemi|ateci)|rimuov(?:imi|etemi|eteci)|tog(?:limi|lietemi|lieteci)|elimin(?:ami|atemi))$`,
  ),
  rule(String.raw`mi (?:cancelli|tolga|rimuova)$`),
  rule(String.raw`(?:ho|abbiamo) (?:gia )?detto (?:basta|stop|di smettere)$`),
  rule(String.raw`disiscriv\w+|annull\w+ (?:l |la mia )iscrizione`),
  rule(String.raw`(?:numero|persona) sbagliat[oa]`, 'fattura'),
  rule(String.raw`sbagliato (?:numero|persona)`),
  rule(String.raw`non e piu il numero|non appartiene piu|qui non c e nessun`),
  rule(String.raw`lasc\w+(?: mi)? (?:in pace|stare)|mi lasci in pace`),
  rule(String.raw`(?:revoco|ritiro) il (?:mio )?consenso|mai dato il consenso|mi oppongo`),
  rule(String.raw`vi denuncio|ancora un messaggio e`),
  rule(String.raw`ferm\w+ questi messaggi|dimenticat\w+ il mio numero`),
  rule(String.raw`niente piu (?:messaggi|sms|mail)|piu niente da voi`),
];

const DUTCH: Rule[] = [
  rule('niet meer (?:appen|sms en|mailen|schrijven)'),
  rule(
    `${any('stop', 'stoppen', 'hou op', 'houd op')}(?: \\w+)?(?: met| aub| a u b)${words(2)} ?${any('berichten', 'appen', 'sms en', 'sturen', 'mailen', 'spammen', 'lastigvallen', 'bellen', 'deze')}`,
  ),
  rule(
    `${any('stuur', 'app', 'mail', 'sms', 'bel')} (?:mij|me|ons)${words(2)} (?:niet|niets|geen)\\b`,
    String.raw`bel mij niet app liever`,
  ),
  rule(
    `geen ${any('berichten', 'sms', 'mails?', 'e mails?', 'reclame', 'appjes')} (?:meer|aub)`,
    String.raw`gekregen|ontvangen over`,
  ),
  rule(`wil geen (?:reclame|berichten|sms)|wens geen`),
  rule(String.raw`niet meer benaderd|geen contact meer`),
  rule(String.raw`stuur niets meer`),
  rule(
    `${any('haal', 'verwijder', 'wis', 'schrap')} ${any('mij', 'me', 'mijn (?:nummer|gegevens)')}\\b`,
    'mandje',
  ),
  rule(String.raw`mijn (?:nummer|gegevens) (?:te )?verwijderen`),
  rule(String.raw`(?:schrijf|meld) (?:mij|me) (?:uit|af)|uitschrijven|afmelden|meld ik me af`),
  rule(String.raw`verkeerde? (?:nummer|persoon)`, 'factuur'),
  rule(String.raw`niet meer het nummer|nummer is niet meer van|hier woont geen`),
  rule(String.raw`laat (?:mij|me|ons) met rust|niet (?:meer )?lastig`),
  rule(String.raw`trek mijn toestemming in|nooit toestemming|maak bezwaar`),
  rule(String.raw`(?:doe ik|ik doe) aangifte|nog (?:een|1) bericht en|intimidatie|als je nog een keer`),
  rule(String.raw`(?:zei|zeg)(?: al| toch| je)* stop$|stop gezegd$`),
  rule(String.raw`vergeet mijn nummer|bel me niet (?:lijst|register)`),
  rule(String.raw`(?:genoeg|beeindig)(?: deze)? berichten`),
];

/** As `plain` leaves a text: the sources of rules in which accents and voicing marks are letters of their own. */
const plainSource = (source: string): string =>
  normalize(source, 'NFKD', MAX_SOURCE).replaceAll(/\p{M}/gu, '');
const MAX_SOURCE = 5000;
const phrase = (asks: string, unless?: string): Rule => ({
  asks: new RegExp(String.raw`(?<!\p{L})(?:${plainSource(asks)})(?!\p{L})`, 'u'),
  ...(unless !== undefined && { unless: new RegExp(plainSource(unless), 'u') }),
});
/** In scripts without spaces between words. */
const passage = (asks: string, unless?: string): Rule => ({
  asks: new RegExp(plainSource(asks), 'u'),
  ...(unless !== undefined && { unless: new RegExp(plainSource(unless), 'u') }),
});

const DANISH: Rule[] = [
  phrase(
    String.raw`(?:stop(?:pe)?|holde? op)(?: nu| venligst| dog)* med (?:at |de |disse |jeres )?(?:skriv|send|kontakt|ring|sms|spam|mail|besked)\p{L}*`,
  ),
  phrase(
    String.raw`(?:skriv|send|kontakt|ring|sms)(?: \S+)? (?:ikke|aldrig) (?:\S+ ){0,3}(?:mere|igen|flere|længere)`,
  ),
  phrase(String.raw`(?:ikke|aldrig) kontakt (?:mig|os)`),
  phrase(
    String.raw`(?:vil|ønsker) (?:\S+ )?ikke (?:\S+ ){0,4}(?:beskeder|sms\p{L}*|sms er|mails?|reklamer?|kontaktet?s?)`,
  ),
  phrase(String.raw`(?:ingen|ikke) flere (?:beskeder|sms\p{L}*|mails?|reklamer?)`, 'får|fået|har'),
  phrase(
    String.raw`(?:slet|fjern|tag|glem)(?: venligst)? (?:mig (?:af|fra|ud)|mig$|mit (?:nummer|telefonnummer)|mine (?:data|oplysninger))`,
  ),
  phrase(
    String.raw`^(?:venligst )?(?:afmeld|frameld)(?: tak| venligst)*$|(?:afmeld|frameld) (?:mig|mit nummer)|afmeldes|frameldes|framelding|afmelding`,
  ),
  phrase('forkerte? (?:nummer|person)', 'faktura|ordre'),
  phrase('lad (?:mig|os) (?:nu )?være(?: i fred)?'),
  phrase('^(?:hold (?:nu )?op|stop)(?: nu| venligst| tak| så| spam)*$'),
  phrase('aldrig (?:sagt ja|givet (?:jer )?samtykke|tilmeldt|givet lov)|(?:an)?melder jer'),
];

const SWEDISH: Rule[] = [
  phrase(
    String.raw`sluta(?: nu| genast)?(?: med)?(?: att)? (?:skriv|skick|kontakt|ring|sms|mejl|mail|spam|höra av)\p{L}*`,
    'inte sluta',
  ),
  phrase(
    String.raw`(?:skriv|skicka|kontakta|ring|smsa|mejla)(?: \S+)? (?:inte|inga|aldrig) (?:\S+ ){0,3}(?:mer|igen|fler|flera)`,
  ),
  phrase(
    String.raw`(?:vill|önskar) (?:inte|ej) (?:\S+ ){0,4}(?:meddelanden|sms|mejl|kontaktad|reklam|utskick)`,
  ),
  phrase('inga fler (?:sms|meddelanden|mejl|utskick)', 'fått|får'),
  phrase('(?:ta bort|radera|stryk|glöm) (?:mig|mitt (?:nummer|telefonnummer)|mina uppgifter)'),
  phrase(
    String.raw`avregistrera(?: mig)?|avanmäl(?:an|(?: mig)?)|avprenumerera|avsluta (?:min )?prenumeration\p{L}*`,
  ),
  phrase('fel (?:nummer|person)', 'faktura|order'),
  phrase(
    'lämna (?:mig|oss) (?:ifred|i fred)|låt (?:mig|oss) vara|stoppa (?:alla |de här )?(?:utskick|meddelanden|sms)\\p{L}*',
  ),
  phrase('^(?:sluta|stoppa|stopp)(?: nu| tack| genast| för fan)*$'),
  phrase('aldrig (?:godkänt|samtyckt|gett (?:er )?samtycke|anmält mig)|anmäler er'),
];

const POLISH: Rule[] = [
  phrase(String.raw`przesta(?:ń|ńcie|ć)(?: \S+){0,3} (?:pisać|wysyłać|dzwonić|spamować|kontaktować)`),
  phrase(
    String.raw`nie (?:pisz|piszcie|pisać|wysyłaj|wysyłajcie|wysyłać|przysyłaj|przysyłajcie|przysyłać|dzwoń|dzwońcie)(?: \S+){0,3} (?:więcej|już)`,
  ),
  phrase(
    String.raw`(?:więcej|już|do mnie) (?:do mnie |więcej )?nie (?:pisz|piszcie|pisać|wysyłać|dzwonić|wysyłaj\p{L}*|przysyłaj\p{L}*|dzwoń\p{L}*)`,
  ),
  phrase(
    String.raw`nie (?:chcę|życzę sobie|chciał\p{L}*)(?: \S+){0,3} (?:wiadomości|smsów|sms|sms ów|maili|reklam|kontaktu)`,
  ),
  phrase(
    '(?:usuń|usuńcie|usunąć|skasuj|skasujcie|wykreśl|wykreślcie|wykreślić) (?:mnie|mój numer|mój telefon|moje dane)|mnie (?:usunąć|wypisać|wykreślić)|usunięcie (?:mnie|mojego numeru|moich danych)',
  ),
  phrase('wypisz(?:cie)? mnie|wypisuję się|chcę się wypisać|^wypisz(?: proszę)?$'),
  phrase('(?:zły|błędny|nie ten) numer|^(?:to )?pomyłka(?: \\S+ numer)?$', 'faktur|nie pomyłka'),
  phrase('daj(?:cie)? (?:mi|nam) (?:święty )?spokój|zostaw(?:cie)? (?:mnie|nas) w spokoju'),
  phrase(
    String.raw`nie kontakt\p{L}* się(?: więcej)? ze mną|(?:się|ze mną)(?: więcej| już| ze mną| się){1,3} nie kontaktować`,
  ),
  phrase(
    '^(?:proszę )?(?:przestań|przestańcie|przestać|dość)(?: już| proszę)*$|dość (?:tego |tych )?(?:spamu|wiadomości|smsów)',
  ),
  phrase(String.raw`nie (?:wyrażał\p{L}*|wyraziłe?a?m|dawał\p{L}*) zgody|zgłoszę \S+ jako spam`),
];

const RUSSIAN: Rule[] = [
  phrase(
    String.raw`(?:прекратите|перестаньте|прекрати|перестань|хватит)(?: \S+){0,3} (?:пис|слать|присыл|рассыл|спам|звон|отправ|беспоко)\p{L}*`,
  ),
  phrase(
    String.raw`не (?:пиши|пишите|присылай|присылайте|шлите|отправляйте|звоните|беспокойте)(?: \S+){0,3} (?:больше|мне|меня|нам)`,
  ),
  phrase(
    String.raw`больше (?:мне )?не (?:пиши|присыл|шли|отправля|беспоко|звони)\p{L}*|не звоните и не пишите`,
  ),
  phrase(
    String.raw`не (?:хочу|желаю)(?: \S+){0,2} получать(?: \S+){0,2} (?:сообщен|рассыл|смс|письм|реклам|от вас)\p{L}*`,
  ),
  phrase(
    '(?:удалите|уберите|исключите|вычеркните|удали) (?:меня|мой номер|мой телефон|мои данные|мою почту)',
  ),
  phrase(
    String.raw`отпи(?:сать|ши|шите|ска|сывай)\p{L}*|отмена подписки|отказ\p{L}* от (?:рассылки|подписки)`,
    'как отписать',
  ),
  phrase(
    String.raw`не надо (?:\S+ )?(?:писать|звонить|присылать)|(?:не давал|не дава)\p{L}* согласи\p{L}*|пожалуюсь|забудьте мой номер`,
  ),
  phrase('удалить (?:меня|мой номер|мои данные)'),
  phrase('(?:вы )?не туда (?:пишете|попали|звоните)|это не (?:её|его|мой|их) номер|номер больше не'),
  phrase('не тот номер|(?:ошиблись|ошибся|ошиблась) номером|неправильный номер', 'заказ|счет'),
  phrase(String.raw`оставьте (?:меня|нас) в покое|отстань\p{L}*|отвалите|отвяжитесь`),
  phrase('^(?:стоп|хватит|прекратите|перестаньте)(?: уже| пожалуйста| стоп)*$'),
];

const JAPANESE: Rule[] = [
  passage('(?:送|連絡|配信|メール|電話|メッセージ)[^。、]{0,6}ないで'),
  passage('配信を?停止|(?:配信|送信|メール|メッセージ|sms)(?:を|は)?(?:止め|やめ|停止し)て'),
  passage('^停止(?:してください|希望|(?:で)?お願いします)?$|停止(?:してください|希望)$'),
  passage('退会(?:$|したい|します|希望|させて)|(?:登録|購読|メルマガ)を?解除|^解除(?:してください|希望|$)'),
  passage('(?:リスト|名簿|データ|番号|アドレス|連絡先)(?:から|を)(?:私を)?(?:削除|消し|外し)'),
  passage('番号(?:が|は)?(?:違|間違)|番号を間違えて(?:い|お|ま)|間違い電話|間違って送|人違い', '注文|入力'),
  passage(
    '(?:メッセージ|メール|連絡|sms)(?:は|も)?(?:もう)?(?:いりません|要りません|不要です|結構です)|ほっとい|同意し(?:た覚え|ていません)|通報します|スパムとして',
  ),
  passage('やめてください|もうやめて|やめろ|二度と(?:連絡|送)|迷惑(?:です|メール)', 'やめてくださいとは'),
];

const CHINESE: Rule[] = [
  passage('退订|退訂|^td$|取消(?:订阅|訂閱|订閱)', '怎么退|怎麼退|如何退'),
  passage('^(?:请|請)?停止(?:发送|發送|吧|了)?$|停止(?:发送|發送|给我|給我|向我)'),
  passage('(?:不要|别|別|请勿|請勿)再(?:给我|給我|向我|跟我)?(?:发|發|传|傳|打|联系|聯繫|聯絡|骚扰|騷擾|寄)'),
  passage(
    '(?:不要|别|別|请勿|請勿)(?:给我|給我|向我)?(?:发短信|發簡訊|发消息|打扰|打擾|骚扰|騷擾|烦我|煩我|联系我|聯繫我|聯絡我)|(?:不要|别|別)(?:给我|給我)(?:发|發|打|传|傳)',
  ),
  passage(
    '(?:把|将|將)我.{0,8}(?:删除|刪除|移除|去掉)|(?:删除|刪除|移除)我的?(?:号码|號碼|电话|電話|信息|资料|資料)',
  ),
  passage(
    '打错|打錯|(?:发|發|传|傳)(?:错|錯)人|(?:号码|號碼|电话|電話)(?:错|錯|不对|不對)',
    '订单|訂單|发票',
  ),
  passage(
    '拒收|拒绝接收|拒絕接收|投诉|投訴|举报|不需要再发|不想再?(?:收到|接收)|(?:从未|從未|没有|沒有)同意',
  ),
];

const RULES = [
  ...ENGLISH,
  ...SPANISH,
  ...FRENCH,
  ...GERMAN,
  ...PORTUGUESE,
  ...ITALIAN,
  ...DUTCH,
  ...DANISH,
  ...SWEDISH,
  ...POLISH,
  ...RUSSIAN,
  ...JAPANESE,
  ...CHINESE,
];
