import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '#test/support/any-text.ts';
import { growth, LINEAR } from '#test/support/growth.ts';
import { quotedBy, textReactions } from './text-reaction.ts';

const OURS = 'Hi Ada, your table is booked. To stop texting you, reply STOP to unsubscribe.';

/** By reaction, as phones report it; `%` is the quotation. */
const FORMS: [reaction: string, removed: boolean, ...forms: string[]][] = [
  [
    'love',
    false,
    'Loved “%”',
    'Hat „%“ ein Herz gegeben',
    'Ha aggiunto un cuoricino a “%”',
    'Føjede et hjerte til “%”',
    'Hat „%“ geliebt',
    'Liebt „%“',
    'A adoré « % »',
    'Le encantó “%”',
    'Le encanta “%”',
    'Amou “%”',
    'Adorou “%”',
    'Ha adorato “%”',
    'Ha amato "%"',
    'Vond “%” geweldig',
    'Elskede “%”',
    'Elsker “%”',
    'Älskade ”%”',
    'Pokochał(a) „%”',
    'Uwielbia „%”',
    'Очень понравилось «%»',
    '“%”にハートを付けました',
    '“%”が大好きです',
    '喜爱“%”',
    '對「%」表示喜愛',
  ],
  [
    'like',
    false,
    'Liked “%”',
    'Liked "%"',
    'Liked ‘%’',
    "Liked '%'",
    'liked “%”',
    'Gefällt „%“',
    '„%“ gefällt mir',
    'Hat „%“ mit „Gefällt mir“ markiert',
    'A aimé « % »',
    'A aimé «\u00A0%\u00A0»',
    'a ajouté un « J’aime » à « % »',
    'Le gustó “%”',
    'Le gustó «%»',
    'Gostou de “%”',
    'Curtiu “%”',
    'Gli piace “%”',
    'Ha apprezzato “%”',
    'Vond “%” leuk',
    'Vindt “%” leuk',
    'Synes godt om “%”',
    'Syntes godt om »%«',
    'Gillade ”%”',
    'Oznaczono „%” jako lubiane',
    'Polubił(a) „%”',
    'Понравилось «%»',
    '“%”に“いいね”しました',
    '「%」を高評価しました',
    '赞了“%”',
    '喜欢“%”',
    '對「%」按讚',
  ],
  [
    'dislike',
    false,
    'Disliked “%”',
    'Gefällt „%“ nicht',
    'Missfällt „%“',
    'N’a pas aimé « % »',
    "N'a pas aimé « % »",
    'No le gustó “%”',
    'Não gostou de “%”',
    'Descurtiu “%”',
    'Non gli piace “%”',
    'Non è piaciuto “%”',
    'Vond “%” niet leuk',
    'Synes ikke godt om “%”',
    'Ogillade ”%”',
    'Nie podoba się „%”',
    'Не понравилось «%»',
    '“%”に低評価を付けました',
    '踩了“%”',
    '不喜欢“%”',
  ],
  [
    'laugh',
    false,
    'Laughed at “%”',
    'Le hace gracia “%”',
    'Trova divertente “%”',
    'Lacht über „%“',
    'Achou graça de “%”',
    '觉得“%”很好笑',
    'Hat über „%“ gelacht',
    'A ri de « % »',
    'Se rio de “%”',
    'Se rió con “%”',
    'Riu de “%”',
    'Ha riso a “%”',
    'Ride per “%”',
    'Lachte om “%”',
    'Grinede ad “%”',
    'Skrattade åt ”%”',
    'Śmieje się z „%”',
    'Посмеялись над «%»',
    '“%”に笑いました',
    '对“%”大笑',
    '大笑“%”',
  ],
  [
    'emphasize',
    false,
    'Emphasized “%”',
    'Le sorprende “%”',
    'Ha aggiunto i punti esclamativi a “%”',
    'Ha messo in evidenza “%”',
    'Emphasised “%”',
    'Betonte „%“',
    'Hat „%“ hervorgehoben',
    'A mis en évidence « % »',
    'A souligné « % »',
    'A insisté sur « % »',
    'A mis l’accent sur « % »',
    'A mis en exergue « % »',
    'A mis en avant « % »',
    'Enfatizó “%”',
    'Exclamó por “%”',
    'Enfatizou “%”',
    'Deu ênfase a “%”',
    'Ha enfatizzato “%”',
    'Benadrukte “%”',
    'Fremhævede “%”',
    'Betonade ”%”',
    'Podkreślił(a) „%”',
    'Wyróżniono „%”',
    'Отмечен восклицательным знаком «%»',
    '“%”を強調しました',
    '强调了“%”',
  ],
  [
    'question',
    false,
    'Questioned “%”',
    'Duda sobre “%”',
    'A remis en question « % »',
    'Twijfelde aan “%”',
    'Hinterfragte „%“',
    'Hat „%“ mit einem Fragezeichen markiert',
    'A posé une question sur « % »',
    'S’est interrogé(e) sur « % »',
    'Cuestionó “%”',
    'Preguntó por “%”',
    'Questionou “%”',
    'Ha fatto una domanda su “%”',
    'Vroeg zich af over “%”'.replace('zich af ', ''),
    'Satte spørgsmålstegn ved “%”',
    'Ifrågasatte ”%”',
    'Zakwestionował(a) „%”',
    'Поставлен вопрос на «%»',
    '“%”に疑問符を付けました',
    '质疑了“%”',
  ],
  [
    'love',
    true,
    'Removed a heart from “%”',
    'Hat ein Herz von „%“ entfernt',
    'A retiré un cœur de « % »',
    'Quitó un corazón de “%”',
    'Eliminó un corazón de “%”',
    'Removeu um coração de “%”',
    'Ha rimosso un cuore da “%”',
    'Verwijderde een hartje van “%”',
    'Fjernede et hjerte fra “%”',
    'Tog bort ett hjärta från ”%”',
    'Usunął serce z „%”',
    'Убрано сердце с «%»',
    '“%”からハートを削除しました',
    '移除了“%”的爱心',
  ],
  [
    'like',
    true,
    'Removed a like from “%”',
    'A retiré son « J’aime » de « % »',
    'Hat „Gefällt mir“ von „%“ entfernt',
    'A retiré un J’aime de « % »',
    'A retiré un « J’aime » de « % »',
    'Quitó un Me gusta de “%”',
    'Removeu um Gosto de “%”',
  ],
  ['dislike', true, 'Removed a dislike from “%”', 'Removed a thumbs down from “%”'],
  ['laugh', true, 'Removed a laugh from “%”', 'A supprimé un rire de « % »'],
  ['emphasize', true, 'Removed an exclamation from “%”', 'Hat ein Ausrufezeichen von „%“ entfernt'],
  ['question', true, 'Removed a question mark from “%”', 'Hat ein Fragezeichen von „%“ entfernt'],
  [
    'sticker',
    false,
    'Reacted with a sticker to “%”',
    'Reacted with a photomoji to “%”',
    'Hat mit einem Sticker auf „%“ reagiert',
  ],
];

/** The same with an emoji, `E`. */
const EMOJI_FORMS: [removed: boolean, ...forms: string[]][] = [
  [
    false,
    'Reacted E to “%”',
    'Se ha añadido E a “%”',
    'Reacted E to "%"',
    'E to “%”',
    'E to “ % ”',
    '\u200EE\u200E to \u200A“\u200A%\u200A”',
    'Hat mit E auf „%“ reagiert',
    'Reagierte mit E auf „%“',
    'E auf „%“',
    'A réagi avec E à « % »',
    'E à « % »',
    'Reaccionó con E a “%”',
    'E a “%”',
    'Reagiu com E a “%”',
    'A réagi par E à « % »',
    'Dodano reakcję E do „%”',
    'Ha reagito con E a “%”',
    'Reageerde met E op “%”',
    'Reagerede med E på “%”',
    'Reagerade med E på ”%”',
    'Zareagował(a) E na „%”',
    'Реакция E на «%»',
    'Отреагировал(а) E на «%»',
    '“%”にEでリアクションしました',
    '用E回应了“%”',
  ],
  [
    true,
    'Removed E from “%”',
    'Unreacted E from “%”',
    'Removed a E from “%”',
    'E removed from “%”',
    'Hat E von „%“ entfernt',
    'A retiré E de « % »',
    'Quitó E de “%”',
    'Removeu E de “%”',
    'Ha rimosso E da “%”',
  ],
];

const filled = (form: string, quotation = OURS): string => form.replace('%', () => quotation);

/** The reaction to a text of ours. */
const readingOf = (text: string, ours: string) =>
  textReactions(text).find((reading) => quotedBy(reading)(ours));

describe.each(FORMS)('the reaction %s (removed: %s)', (reaction, removed, ...forms) => {
  it.each(forms)('is recognized: %s', (form) => {
    for (const quotation of [
      OURS,
      `${OURS.slice(0, 30)}…`,
      `${OURS.slice(0, 30)}...`,
      OURS.replaceAll(' ', '\u00A0'),
      OURS.replace('Hi', '“Hi”'),
    ]) {
      const text = filled(form, quotation);
      expect(readingOf(text, OURS), text).toMatchObject({ reaction, removed });
      expect(readingOf(text.normalize('NFD'), OURS), text).toMatchObject({ reaction, removed });
      expect(readingOf(text, 'Hi Ada, your order is on its way.')).toBeUndefined();
    }
  });
});

describe.each(EMOJI_FORMS)('an emoji (removed: %s)', (removed, ...forms) => {
  it.each(forms)('is recognized: %s', (form) => {
    for (const emoji of ['🔥', '❤️', '👍🏽', '👨‍👩‍👧', '🇩🇪', '‼️']) {
      const text = filled(form.replace('E', () => emoji));
      expect(readingOf(text, OURS), text).toMatchObject({ reaction: 'emoji', emoji, removed });
    }
  });
});

describe('a text that reports a reaction', () => {
  it.each([
    ['Loved an image', 'love'],
    ['Liked a movie', 'like'],
    ['Laughed at an attachment', 'laugh'],
    ['Emphasized an audio message', 'emphasize'],
    ['Reacted 🔥 to an image', 'emoji'],
    ['👍 to a photo', 'emoji'],
    ['Liked a contact card', 'like'],
    ['Gefällt ein Bild', 'like'],
    ['A aimé une image', 'like'],
    ['Le gustó una imagen', 'like'],
    ['Gostou de uma imagem', 'like'],
    ['Ha adorato un’immagine', 'love'],
    ['Vond een afbeelding leuk', 'like'],
    ['Понравилось изображение', 'like'],
    ['画像にハートを付けました', 'love'],
    ['喜爱一张图片', 'love'],
  ])('may be about a file: %s', (text, reaction) => {
    expect(textReactions(text)).toMatchObject([{ reaction, removed: false, about: 'file' }]);
  });

  it.each([
    ['„Your table is booked“ ein Herz hinzugefügt', 'love', false],
    ['„Your table is booked“ ein Lachen hinzugefügt', 'laugh', false],
    ['„Your table is booked“ ein Ausrufezeichen hinzugefügt', 'emphasize', false],
    ['„Your table is booked“ ein Fragezeichen hinzugefügt', 'question', false],
    ['🎉 aus „Your table is booked“ entfernt', 'emoji', true],
    ['Einem Bild ein Herz hinzugefügt', 'love', false],
    ['Hat „Your table is booked“ mit 👍 kommentiert', 'emoji', false],
    ['Hat „Gefällt mir“ für „Your table is booked“ ausgewählt', 'like', false],
    ['Поставил(-а) реакцию 🎉 на «Your table is booked»', 'emoji', false],
    ['A ajouté un pouce en l’air à « Your table is booked »', 'like', false],
    ['Ha indicado que le gusta “Your table is booked”', 'like', false],
    ['Añadió un corazón a “Your table is booked”', 'love', false],
    ['Agregó una risa a “Your table is booked”', 'laugh', false],
    ['Marcó “Your table is booked” con un corazón', 'love', false],
    ['Adicionou um coração a “Your table is booked”', 'love', false],
    ['Ha messo in risalto “Your table is booked”', 'emphasize', false],
    ['Ha trovato divertente “Your table is booked”', 'laugh', false],
    ['Vroeg zich “Your table is booked” af', 'question', false],
    ['Stelde een vraag bij “Your table is booked”', 'question', false],
    ['Trok “Your table is booked” in twijfel', 'question', false],
    ['Heeft een hart toegevoegd aan “Your table is booked”', 'love', false],
    ['Synes ikke om “Your table is booked”', 'dislike', false],
    ['Syntes ikke om “Your table is booked”', 'dislike', false],
    ['Tilføjede et hjerte til “Your table is booked”', 'love', false],
    ['Lade till ett hjärta på ”Your table is booked”', 'love', false],
    ['Kwestionuje „Your table is booked”', 'question', false],
    ['Zareagowano 🎉 na „Your table is booked”', 'emoji', false],
    ['「Your table is booked」を高く評価しました', 'like', false],
    ['“Your table is booked”を大好きと言いました', 'love', false],
    ['說「Your table is booked」讚', 'like', false],
    ['对“Your table is booked”点了赞', 'like', false],
    ['Loved a Digital Touch message', 'love', false],
    ['Liked &quot;Your table is booked&quot;', 'like', false],
    ['Liked ?Your table is booked?', 'like', false],
    ['Liked Your table is booked', 'like', false],
    ['Liked a poll', 'like', false],
    ['Loved a memoji', 'love', false],
    ['Loved a sticker', 'love', false],
    ['Liked an invitation', 'like', false],
    ['Liked a message', 'like', false],
    ['Loved a payment', 'love', false],
    ['Hat „Your table is booked“ mit einem Herz markiert', 'love', false],
    ['Hat ein Herz zu „Your table is booked“ hinzugefügt', 'love', false],
    ['Hat mit „Haha“ auf „Your table is booked“ reagiert', 'laugh', false],
    ['Hat mit „Gefällt mir“ auf „Your table is booked“ reagiert', 'like', false],
    ['Reaktion 👍 auf „Your table is booked“', 'emoji', false],
    ['A mis un cœur sur « Your table is booked »', 'love', false],
    ['A réagi « J’adore » à « Your table is booked »', 'love', false],
    ['A supprimé la réaction 👍 à « Your table is booked »', 'emoji', true],
    ['Ha puesto un corazón en “Your table is booked”', 'love', false],
    ['Dio “me gusta” a “Your table is booked”', 'like', false],
    ['Reaccionó con “me encanta” a “Your table is booked”', 'love', false],
    ['Reagiu com “amei” a “Your table is booked”', 'love', false],
    ['Colocou um coração em “Your table is booked”', 'love', false],
    ['Ha reagito con “mi piace” a “Your table is booked”', 'like', false],
    ['Ha inserito un cuore in “Your table is booked”', 'love', false],
    ['Gaf “Your table is booked” een hartje', 'love', false],
    ['Vindt “Your table is booked” leuk', 'like', false],
    ['Gav “Your table is booked” et hjerte', 'love', false],
    ['Gav ”Your table is booked” ett hjärta', 'love', false],
    ['Zareagował ❤️ na „Your table is booked”', 'emoji', false],
    ['Dał(a) serce „Your table is booked”', 'love', false],
    ['「Your table is booked」に👍をつけました', 'emoji', false],
    ['「Your table is booked」に「いいね！」しました', 'like', false],
    ['给“Your table is booked”点了👍', 'emoji', false],
    ['对“Your table is booked”表示喜欢', 'like', false],
    ['Поставила сердечко на «Your table is booked»', 'love', false],
    ['Добавил реакцию 👍 к «Your table is booked»', 'emoji', false],
    ['Heart “Your table is booked”', 'love', false],
  ])('is told in other words, too: %s', (text, reaction, removed) => {
    const readings = textReactions(text);
    const found = readings.find(
      (reading) => quotedBy(reading)('Your table is booked') || reading.about === 'file',
    );
    expect(found).toMatchObject({ reaction, removed });
  });

  it.each([
    '“Your table is booked”? Question!',
    'Das Bild gefällt mir',
    'Frage: „Your table is booked“?',
    'Une question sur « Your table is booked » ?',
    'Me gusta la foto',
    'Una pregunta sobre “Your table is booked”',
    'Mi piace la foto',
    'Una domanda su “Your table is booked”',
    'Een vraag over “Your table is booked”',
    'Вопрос: «Your table is booked»?',
    'Like file',
  ])('is told from questions and opinions: %s', (text) => expect(textReactions(text)).toEqual([]));

  it('may have lost its end on the way', () => {
    expect(readingOf(`Liked “${OURS.slice(0, 50)}`, OURS)).toMatchObject({ reaction: 'like' });
  });

  it('may quote a text that was decomposed on the way, or lost its accents', () => {
    const sent = 'Straße 7, café Zoë, İstanbul, 서울, がいこく';
    for (const quoted of [sent.normalize('NFD'), sent.normalize('NFC'), sent.replace('café Zoë', 'cafe Zoe')])
      expect(readingOf(`Loved “${quoted}”`, sent)).toMatchObject({ reaction: 'love' });
  });

  it('may quote emoji only', () => {
    expect(readingOf('Loved “🎉🎉”', '🎉🎉')).toMatchObject({ reaction: 'love' });
    expect(readingOf('Loved “🎉🎉”', '👍')).toBeUndefined();
  });

  it.each([
    'STOP',
    'I loved it!',
    'I liked “Casablanca”',
    'Yes to “a table at 8”',
    'Liked it a lot, “really”, thank you so much',
    'I love “Hi Ada”',
    '“Hi Ada”',
    'Hi',
    '👍',
    'Liked',
    'an image',
    'Photo of the table 🔥',
    'Did you see the photo?',
    'Loved the video!',
    'Like the link',
    'Please stop “texting” me',
    '',
  ])('is told from others: %j', (text) => expect(textReactions(text)).toEqual([]));

  it('is found in linear time, and never fails', () => {
    for (const unit of ['“', 'Liked “', "'", 'a ', '👍', '笑'])
      expect(growth((length) => unit.repeat(length / unit.length), textReactions, 3000)).toBeLessThan(LINEAR);
    fc.assert(
      fc.property(anyText(60), anyText(60), (before, inner) => {
        for (const { removed } of textReactions(`${before}“${inner}”`)) expect(removed).toBeTypeOf('boolean');
      }),
    );
  });

  it('quotes a long beginning that was cut without a sign', () => {
    const sent = 'Hi Ada, your table is booked.';
    expect(
      readingOf('\u200A\u200B❤️\u200B to “\u200AHi Ada, your table is \u200A”\u200A', sent),
    ).toMatchObject({
      reaction: 'emoji',
      emoji: '❤️',
    });
    expect(readingOf('Loved “Hi Ada”', sent)).toBeUndefined();
    expect(readingOf('Loved “your table is booked”', sent)).toBeUndefined();
  });

  it('quotes any text that we send, truncated or not', () => {
    const sent = fc
      .string({ unit: 'grapheme', minLength: 20, maxLength: 80 })
      .filter((text) => /\p{L}{5}/u.test(text.slice(0, 10)) && !/[“”]/.test(text));
    fc.assert(
      fc.property(sent, fc.boolean(), (text, isTruncated) => {
        expect(readingOf(`Loved “${isTruncated ? `${text.slice(0, 15)}…` : text}”`, text)).toMatchObject({
          reaction: 'love',
        });
      }),
      { numRuns: 50 },
    );
  });
});
