import { describe, expect, it } from 'vitest';
import { growth, LINEAR } from '#test/support/growth.ts';
import { isAutomaticText } from './automatic-text.ts';

describe('a text that a phone sends by itself', () => {
  it.each([
    'I’m driving with Do Not Disturb While Driving turned on. I’ll see your message when I get where I’m going.',
    "I'm driving with Driving Focus turned on. I'll see your message when I get where I'm going.",
    '(I’m not receiving notifications. If this is urgent, reply “urgent” to send a notification through with your original message.)',
    'I have notifications silenced with Do Not Disturb.',
    'I have notifications silenced.',
    "I'm driving right now. I'll get back to you later.",
    "Auto-reply: I'm driving right now.",
    '[Auto Reply] I am in a meeting.',
    'Ich fahre gerade Auto und habe „Beim Fahren nicht stören“ aktiviert. Ich sehe deine Nachricht, wenn ich angekommen bin.',
    'Ich habe Mitteilungen mit „Nicht stören“ stummgeschaltet.',
    'Je conduis avec Ne pas déranger en voiture activé. Je verrai votre message à mon arrivée.',
    'J’ai désactivé les notifications avec Ne pas déranger.',
    'Estoy conduciendo con la función “No molestar al conducir” activada. Veré tu mensaje cuando llegue.',
    'Estou dirigindo com o modo Não Perturbe ativado. Verei sua mensagem quando chegar ao meu destino.',
    'Sto guidando con “Non disturbare alla guida” attivato. Leggerò il tuo messaggio quando arrivo.',
    'Ik zit achter het stuur en heb ‘Niet storen tijdens autorijden’ ingeschakeld. Ik bekijk je bericht zodra ik ben aangekomen.',
    'Jeg kører og har slået Forstyr ikke under kørsel til. Jeg ser din besked, når jeg når frem.',
    'Jag kör och har Stör ej vid bilkörning påslaget. Jag ser ditt meddelande när jag är framme.',
    'Prowadzę i mam włączoną opcję „Nie przeszkadzać podczas jazdy”. Zobaczę Twoją wiadomość, gdy dojadę na miejsce.',
    '運転中のおやすみモードをオンにして運転中です。目的地に到着したらメッセージを確認します。',
    '我正在开车，已开启“驾驶勿扰”模式。到达目的地后我会查看您的信息。',
    'Я за рулём, у меня включён режим «Не беспокоить водителя». Я увижу ваше сообщение, когда доберусь до места.',
    'Automatische Antwort: Ich bin im Urlaub.',
    'Respuesta automática: estoy fuera.',
    'Réponse automatique : je suis absent',
    "I'm driving right now - I'll get back to you later.",
    'I have notifications turned off.',
    'This is an automated message: we are closed today.',
    'Sent automatically: I’m in a meeting',
    'Dies ist eine automatische Antwort. Ich bin im Urlaub.',
    'Mitteilungen sind stummgeschaltet.',
    'Mes notifications sont désactivées.',
    'Las notificaciones están silenciadas.',
    'As notificações estão silenciadas.',
    'Ho silenziato le notifiche.',
    'Meldingen zijn gedempt.',
    'Notifikationer er slået fra.',
    'Notiser är avstängda.',
  ])('is recognized: %s', (text) => {
    expect(isAutomaticText(text)).toBe(true);
    expect(isAutomaticText(`${text.replaceAll('’', "'")}\n`)).toBe(true);
  });

  it.each([
    'STOP',
    'I’m driving',
    'I’m driving right now, can you call at 5?',
    'I am driving right now',
    "I'll read it later",
    'Please do not disturb me',
    'Do not disturb!',
    'Sorry, I had Do Not Disturb turned on. Yes, Monday works!',
    'I have Do Not Disturb turned on. Yes, Monday works!',
    'Bitte nicht stören',
    'No molestar',
    'Ich fahre gerade nach Wien',
    'Is this an auto-reply?',
    'This is an automated message, right? Stop it',
    'Automated text? Really?',
    'I turned off my notifications, sorry, what did you say?',
    '',
  ])('is told from what people write: %j', (text) => expect(isAutomaticText(text)).toBe(false));

  it.each(['notifications focus ', 'i have ', '.', 'driving ', '通知'])(
    'is found in linear time: %j',
    (unit) => {
      expect(growth((length) => unit.repeat(length / unit.length), isAutomaticText, 4000)).toBeLessThan(
        LINEAR,
      );
    },
  );
});
