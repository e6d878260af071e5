import { ownText } from '../inbox/own-words.ts';
import { asksToBeLeftAlone, MAX_LENGTH, plain } from './suspected-opt-out.ts';

/**
 * Classifies a reply that is not an opt-out keyword: a clear request to be left alone, one that only somebody who understands it
 * can judge, or neither.
 */
export type Suspicion = 'clear' | 'doubtful' | 'none';

/** Only rules, measured on a labeled set (docs/compliance.md). */
export function optOutSuspicion(text: string): Suspicion {
  if (asksToBeLeftAlone(text)) return 'clear';
  const own = ownText(text, MAX_LENGTH);
  if (own === null) return 'none';
  const words = plain(own);
  return [DOUBTFUL, OTHER_DOUBTFUL, SPACELESS_DOUBTFUL].some((pattern) => pattern.test(words))
    ? 'doubtful'
    : 'none';
}

/** Words of refusal. Most people who use them mean something else: to stop by, a wrong size, no interest today. */
const WORDS = [
  // English
  'stop(?:s|ped|ping)?|quit|cease|unsub\\w*|un?s\\w{0,4}cribe\\w*|opt(?:ed|ing)? out|cancel|remove\\w*|delete\\w*|lose|erase|take (?:me|us|my) (?:off|out)',
  'wrong|not (?:me|him|her|my number)|(?:sold|changed|new) (?:my |this )?(?:number|phone)|not (?:the|your) (?:person|guy|one)|who (?:is|r|are) (?:this|you|u)',
  'how (?:did|do) (?:you|u) (?:get|have|know)|where (?:did|do) (?:you|u) get|who gave (?:you|u)|consent\\w*|permission|privacy',
  'not interested|no interest|uninterested|no (?:thanks|thank you|thx)|not for (?:me|us)|no more|(?:dont|do not) (?:want|need|care|contact|text|call|message)',
  'spam\\w*|scam\\w*|harass\\w*|report(?:ed|ing)?|block(?:ed|ing)?|lawyer|attorney|police|bother\\w*|annoy\\w*|enough|sick of|tired of',
  'go away|get lost|leave (?:me|us)|fuck\\w*|piss off|shut up|never (?:again|mind)|not again|again\\W*$',
  // Spanish
  'basta|alto|par[ae]n?|dej[aeo]n?|dej[ae](?:me|nos)|baja|borr\\w+|elimin\\w+|quit[ae]\\w*|saqu\\w+|equivoc\\w+|molest\\w+|denunci\\w+|bloque\\w+',
  'no (?:me )?interesa|no gracias|no (?:quiero|deseo|necesito)|no soy|de donde (?:sac|tien)\\w+|quien (?:es|te|le|les)|no mas|nunca',
  // French
  'arret\\w*|cess\\w*|stopp\\w*|desinscri\\w*|desabonn\\w*|retir\\w*|supprim\\w*|enlev\\w*|effac\\w*|mauvais\\w*|faux|tromp\\w*|erreur|laiss\\w*',
  'pas interesse\\w*|non merci|plus (?:de|rien)|jamais|ca suffit|derang\\w*|signal\\w*|bloqu\\w*|qui etes vous|comment avez vous',
  // German
  'aufhor\\w*|hor\\w* auf|abmeld\\w*|austrag\\w*|abbestell\\w*|losch\\w*|entfern\\w*|streich\\w*|falsch\\w*|verwahlt|geirrt|lass\\w*|ruhe|schluss',
  'kein interesse|nicht interessiert|nein danke|nicht mehr|nichts mehr|keine \\w+ mehr|nie wieder|genug|reicht|belastig\\w*|gesperrt|blockier\\w*|woher haben',
  // Portuguese
  'par(?:[ae]m?|ar)|deix[ae]m?|cancel\\w*|remov\\w*|apag\\w*|exclu\\w*|tir[ae]\\w*|errad[oa]|engan\\w+|incomod\\w*|perturb\\w*|nao (?:me )?interessa|nao (?:obrigad[oa]|quero|desejo)|chega|de onde',
  // Italian
  'smett\\w*|ferm\\w*|cancell\\w*|tog\\w*|rimuov\\w*|elimin\\w*|sbagliat\\w*|disturb\\w*|non (?:mi )?interess\\w*|no grazie|non voglio|mai piu|lasc\\w*|non sono|chi (?:sei|siete)',
  // Dutch
  'stopp?\\w*|hou\\w* op|afmeld\\w*|uitschrijv\\w*|verwijder\\w*|wis|haal|verkeerd\\w*|geen interesse|niet geinteresseerd|nee (?:dank|bedankt)|niet meer|nooit|genoeg|rust|lastig\\w*',
];

const DOUBTFUL = new RegExp(`\\b(?:${WORDS.join('|')})\\b`);

/** As `plain` leaves them, in languages with letters that `\\b` does not know. */
const OTHER_WORDS = [
  // Danish
  'nej tak|ikke interess\\p{L}*|forkert\\p{L}*|slet|fjern|afmeld\\p{L}*|frameld\\p{L}*|hold op|i fred|hvem er (?:du|det)|hvor har',
  // Swedish
  'nej tack|inte intresserad|fel|ta bort|radera|avregistrera|avsluta|sluta|ifred|vem ar (?:du|det)|varifran',
  // Polish
  'nie dziekuje|nie jestem zainteresowan\\p{L}*|zł[ya]|pomyłk[aę]|usun\\p{L}*|wypis\\p{L}*|rezygnuj\\p{L}*|przesta\\p{L}*|dosc|spokoj|skad mac\\p{L}*|kto to',
  // Russian
  'нет спасибо|не интересно|не интересует|стоп|хватит|удал\\p{L}*|отпис\\p{L}*|ошибл\\p{L}*|не тот|прекрат\\p{L}*|перестан\\p{L}*|покое|откуда|кто (?:это|вы)',
];
const OTHER_DOUBTFUL = new RegExp(String.raw`(?<!\p{L})(?:${OTHER_WORDS.join('|')})(?!\p{L})`, 'u');
/** Without voicing marks. */
const SPACELESS_DOUBTFUL =
  /停止|解除|退会|やめ|違い|いりません|結構てす|迷惑|誰てすか|興味|退订|退訂|取消|不需要|不要|没兴趣|沒興趣|错|錯|^t$/u;
