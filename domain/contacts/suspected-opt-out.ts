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
  /^(?:ok |please |pls |plz |bitte |just |so |no |now )*(?:stop|stopp(?:en)?|parad?|paren?|pare[im]?|parar|parem|alto|baja|detener|cancelar|sair|desinscrever|arretez?|arret|annuler|cessez|basta|smettetela|smettila|cancellami|hort auf|hor auf|horen sie auf|hou op)(?: it| this| that| now| please| pls| already| ja| ya| com isso| ca| maintenant| subito| cosi| jetzt| nu| hiermee| ermee| bitte| svp| aub)*$/;

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
    String.raw`unsub(?:scribe)?\b(?! from (?!this|these|your|all|the list|any))(?! (?:\w+ ){0,2}other\b)`,
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
  rule(String.raw`do not (?:call|contact) (?:list|registry)|dnc\b`),
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
  rule(String.raw`(?:numero|persona) equivocad[oa]`, String.raw`factura|pedido`),
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
  rule(String.raw`(?:mauvais|faux|erreur de) numero|mauvaise personne`, 'facture'),
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

const RULES = [...ENGLISH, ...SPANISH, ...FRENCH, ...GERMAN, ...PORTUGUESE, ...ITALIAN, ...DUTCH];
