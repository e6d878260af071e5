import { describe, expect, it } from 'vitest';
import { LANGUAGE_CODES } from '../base/languages.ts';
import { labelledSentences, type Sentence } from '#test/support/opt-out-sentences.ts';
import { asksToBeLeftAlone } from './suspected-opt-out.ts';

const SENTENCES = labelledSentences();
const LANGUAGES: readonly string[] = LANGUAGE_CODES;

/** How many sentences that ask, or do not, are told to ask, or not. */
function confusion(sentences: readonly Sentence[]) {
  const counts = { found: 0, missed: 0, alarms: 0, quiet: 0 };
  for (const { asks, text } of sentences) {
    const told = asksToBeLeftAlone(text);
    if (asks) counts[told ? 'found' : 'missed'] += 1;
    else counts[told ? 'alarms' : 'quiet'] += 1;
  }
  const { found, missed, alarms } = counts;
  return { ...counts, precision: found / (found + alarms), recall: found / (found + missed) };
}

describe('the rules for suspected opt-outs', () => {
  it('are measured on at least 1,000 sentences of all languages, half of them unseen', () => {
    expect(SENTENCES.length).toBeGreaterThanOrEqual(1000);
    const unseen = SENTENCES.filter(({ half }) => half === 'unseen');
    expect(unseen.length / SENTENCES.length).toBeGreaterThan(0.45);
    expect(new Set(SENTENCES.map(({ language }) => language))).toEqual(new Set(LANGUAGES));
  });

  it('have a precision of 0.98 and a recall of 0.9 on the unseen half', () => {
    const { precision, recall } = confusion(SENTENCES.filter(({ half }) => half === 'unseen'));
    expect(precision).toBeGreaterThanOrEqual(0.98);
    expect(recall).toBeGreaterThanOrEqual(0.9);
  });

  it.each(LANGUAGES)('find most in %s, too', (language) => {
    const { precision, recall, ...counts } = confusion(
      SENTENCES.filter((sentence) => sentence.half === 'unseen' && sentence.language === language),
    );
    if (process.env['SHOW_CONFUSION'] === '1')
      process.stdout.write(`${language} ${JSON.stringify({ ...counts, precision, recall })}\n`);
    expect(precision).toBeGreaterThanOrEqual(0.9);
    expect(recall).toBeGreaterThanOrEqual(0.8);
  });

  it.each([
    'ARRET',
    'Arrêt svp',
    'annuler',
    'BAJA',
    'Alto.',
    'ALTO YA',
    'PARAR',
    'Detener',
    'Cancelar',
    'SAIR',
    'Desinscrever',
    'STOPP',
    'Stopp!',
    'bitte stoppen',
    'Cancellami',
    'stoppen aub',
    'Arrêter',
    'Wypisz',
    'Darse de baja',
  ])('know the keyword “%s” of other languages', (text) => {
    expect(asksToBeLeftAlone(text)).toBe(true);
  });

  it.each([
    'Merci de me retirer de votre liste',
    'Pourriez-vous me supprimer de vos contacts ?',
    'Ce n’est pas le bon numéro',
    'Número incorrecto',
    'Do not contact',
    'stop sending me these',
    'I said stop',
    'I already told you to stop',
    'quit it',
    'Cancellatemi',
    'Toglietemi',
    'Mi cancelli',
    'Ho detto basta',
    'Borradme',
    'Dadme de baja',
    'Ya dije que paren',
    'Je vous ai dit stop',
    'Ich habe Stopp gesagt',
    'Remova-me',
    'Eu disse pare',
    'Ik zei stop',
    'Do not disturb me',
    'unsuscribe',
    'Please unsubcribe me',
    'sotp',
    'Pls STPO now',
  ])('find “%s”', (text) => {
    expect(asksToBeLeftAlone(text)).toBe(true);
  });

  it.each([
    'Skriv ikke til mig mere',
    'Send ikke flere beskeder',
    'Jeg vil ikke have flere beskeder',
    'Jeg ønsker ikke flere sms’er',
    'Slet mit nummer',
    'Fjern mig fra listen',
    'Afmeld',
    'Afmeld mig',
    'Frameld',
    'Forkert nummer',
    'Du har fået forkert nummer',
    'Lad mig være i fred',
    'Stop venligst',
    'Hold op med at skrive',
    'Ikke kontakt mig igen',
    'Kontakt mig ikke igen',
    'Ingen flere beskeder',
    'Jeg vil gerne afmeldes',
    'Hold op',
    'Sluta skriva till mig',
    'Sluta skicka sms',
    'Skicka inga fler meddelanden',
    'Jag vill inte ha fler meddelanden',
    'Jag vill inte bli kontaktad',
    'Ta bort mitt nummer',
    'Ta bort mig från listan',
    'Avregistrera',
    'Avregistrera mig',
    'Avsluta prenumerationen',
    'Fel nummer',
    'Du har fel nummer',
    'Lämna mig ifred',
    'Sluta',
    'Sluta nu',
    'Kontakta mig inte igen',
    'Skriv inte till mig igen',
    'Inga fler sms tack',
    'Stoppa',
    'Avanmäl mig',
    'Przestań do mnie pisać',
    'Proszę przestać pisać',
    'Proszę nie pisać więcej',
    'Nie piszcie do mnie więcej',
    'Proszę nie wysyłać więcej wiadomości',
    'Nie chcę więcej wiadomości',
    'Nie chcę otrzymywać wiadomości',
    'Nie życzę sobie takich wiadomości',
    'Proszę usunąć mój numer',
    'Usuńcie mój numer',
    'Proszę mnie usunąć z listy',
    'Wypisz mnie',
    'Proszę mnie wypisać',
    'Wypisuję się',
    'Zły numer',
    'Pomyłka, zły numer',
    'To pomyłka',
    'Dajcie mi spokój',
    'Daj mi spokój',
    'Nie kontaktujcie się ze mną',
    'Proszę się ze mną nie kontaktować',
    'もう送らないでください',
    'メッセージを送らないでください',
    '連絡しないでください',
    'もう連絡しないで',
    '配信停止',
    '配信停止してください',
    '配信を停止してください',
    '配信停止希望',
    '停止',
    '停止してください',
    '退会',
    '退会したい',
    '登録解除',
    '解除してください',
    'リストから削除してください',
    '番号を削除してください',
    '番号が違います',
    '間違い電話です',
    '人違いです',
    'やめてください',
    'もうやめて',
    '迷惑です',
    'いりません、送らないで',
    'メールを止めてください',
    '二度と連絡しないでください',
    '退订',
    '退訂',
    'TD',
    '回T退订',
    '请退订',
    '取消订阅',
    '取消訂閱',
    '停止',
    '停止发送',
    '请停止发送短信',
    '不要再发了',
    '不要再给我发短信',
    '别再发了',
    '别给我发短信了',
    '请不要再联系我',
    '不要再联系我',
    '請不要再傳訊息給我',
    '把我从名单中删除',
    '请删除我的号码',
    '打错了',
    '号码错了',
    '发错人了',
    '别烦我',
    '不要骚扰我',
    '请勿打扰我',
    '拒收',
    '我要投诉',
    '不需要再发',
    '拒绝接收',
    'Стоп',
    'СТОП',
    'стоп!',
    'Хватит',
    'Хватит мне писать',
    'Прекратите писать',
    'Прекратите рассылку',
    'Перестаньте мне писать',
    'Не пишите мне больше',
    'Больше не пишите',
    'Не присылайте мне сообщения',
    'Больше не присылайте',
    'Не хочу получать сообщения',
    'Я не хочу получать ваши сообщения',
    'Удалите мой номер',
    'Удалите меня из списка',
    'Удалите меня из базы',
    'Отпишите меня',
    'Отписаться',
    'Отписка',
    'Отпишите',
    'Отмена подписки',
    'Вы ошиблись номером',
    'Не тот номер',
    'Ошиблись номером',
    'Оставьте меня в покое',
    'Отстаньте',
    'Не беспокойте меня',
    'Не звоните и не пишите',
    'Уберите меня из рассылки',
    'Отказ от рассылки',
    'I’m not interested, stop',
    'I wish to be removed',
    'I don’t want to receive these',
    'I did not sign up for this',
    'I’ll report you',
    'Reported as spam',
    'Delete my data',
    'Erase my details',
    'GDPR: delete my data',
    'Where did you get my number? Remove it',
    'Take my number off',
    'Blocking you',
    'Kein Interesse, bitte löschen',
    'Bitte aus dem Verteiler nehmen',
    'Kontaktieren Sie mich nie wieder',
    'Stoppen Sie das',
    'Stoppt das',
    'Ich kenne Sie nicht, bitte löschen',
    'Stop pub',
    'Arrêter les SMS',
    'STOP SMS',
    'Eliminar mis datos',
    'Cancelar suscripción',
    'No contactar',
    'Annulla iscrizione',
    'Niet meer appen',
  ])('find “%s”, too', (text) => expect(asksToBeLeftAlone(text)).toBe(true));

  it.each([
    'Hvornår stopper bussen?',
    'Stop lige forbi på mandag',
    'Skriv til mig på mandag',
    'Send flere billeder',
    'Jeg vil gerne have flere beskeder',
    'Nummeret er rigtigt',
    'Slet den anden linje',
    'Forkert størrelse',
    'Forkert farve leveret',
    'Ring ikke før kl. 10',
    'Nej tak',
    'Ikke interesseret',
    'När slutar ni?',
    'Slutar klockan 5',
    'Skicka fler bilder',
    'Fel storlek',
    'Fel färg',
    'Ta bort en stol',
    'Ta bort rad 2',
    'Skriv inte under än',
    'Nej tack',
    'Inte intresserad',
    'Sluta inte',
    'Kiedy przestanie padać?',
    'Proszę pisać na maila',
    'Nie chcę krzesła',
    'Zły rozmiar',
    'Proszę usunąć drugą pozycję',
    'Nie, dziękuję',
    'Nie jestem zainteresowany',
    'Rezygnuję z drugiego krzesła',
    'To nie pomyłka',
    'Pomyłka w fakturze',
    'バス停はどこですか',
    '停止ボタンはどこ',
    '月曜日に連絡してください',
    '送ってください',
    'もう送りましたか',
    'サイズが違います',
    '色が違います',
    '注文を取り消してください',
    '2番目を削除してください',
    'いいえ、結構です',
    '番号を教えてください',
    '什么时候停止营业？',
    '公交站在哪里',
    '请发给我报价',
    '不要红色的',
    '不要了',
    '不需要',
    '尺寸错了',
    '颜色错了',
    '请删除第二项',
    '取消第二个订单',
    '取消订单',
    '停车场在哪',
    '别忘了发票',
    '不要忘记联系我',
    '谢谢不用',
    'T恤多少钱',
    'TD银行',
    'Где остановка?',
    'Напишите мне в понедельник',
    'Не тот размер',
    'Не тот цвет',
    'Удалите вторую позицию',
    'Отмените заказ',
    'Хватит ли трёх стульев?',
    'Стоп-кран',
    'Стоп, а цена?',
    'Нет, спасибо',
    'Не интересно',
    'Больше информации',
    'Не беспокойтесь',
    'Не забудьте написать',
    'Пишите',
    'Пришлите больше фото',
    'Не хочу стул',
  ])('let “%s” pass, too', (text) => expect(asksToBeLeftAlone(text)).toBe(false));

  it.each([
    'Unsubscribe the other email but keep texting',
    'Do not call, text me',
    'Pouvez-vous me retirer le supplément de la facture ?',
    'Ce n’est pas le bon numéro de facture',
    'El número incorrecto está en la factura',
    'I have Do Not Disturb turned on',
    'I was in do not disturb mode',
    'Stop by anytime',
    'Take my other number off but keep this one',
    'Stop sending to my work email, use this one',
    'Please don’t stop sending these',
  ])('let “%s” pass', (text) => expect(asksToBeLeftAlone(text)).toBe(false));

  it.each(['¡Qué alto!', 'El precio baja', 'Vamos a parar aquí', 'Er stoppt', 'Vou sair'])(
    'do not take “%s” for one',
    (text) => expect(asksToBeLeftAlone(text)).toBe(false),
  );

  it('look at what the contact wrote, and not at what is quoted', () => {
    expect(asksToBeLeftAlone('Sounds good!\n\nOn Monday, Ada wrote:\n> Please stop texting me')).toBe(false);
    expect(asksToBeLeftAlone('')).toBe(false);
    expect(asksToBeLeftAlone(`Please stop texting me ${'and so on '.repeat(100)}`)).toBe(false);
  });

  it('terminate for long repetitive texts', () => {
    for (const text of [
      'stop '.repeat(60),
      'a '.repeat(150),
      'remove my my my '.repeat(18),
      'no '.repeat(99),
    ])
      expect(asksToBeLeftAlone(text)).toBe(false);
  });
});
