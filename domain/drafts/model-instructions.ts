import { plainText } from './plain-text.ts';

/*
 * Whether a text seems to be written to the model instead of to the business. Whoever writes it may talk the model into an answer that no
 * other rule looks for. By kind of attempt, in the languages of most users, in lower case and without accents.
 */

/** Within a sentence. */
const NEAR = '[^.!?\\n]{0,60}';

const KINDS: readonly string[] = [
  // To forget what it was told.
  `(?:ignor\\w*|disregard|forget|override|bypass|obey|follow it|vergiss|vergessen sie|missachte\\w*|oublie[zr]?|olvid[ae]\\w*|esquec\\w+|dimentic\\w+|negeer|vergeet)\\b${NEAR}\\b(?:me|above|everything|what you|instruct\\w*|rules?|guidelines?|prompts?|documents?|commands?|restrictions?|anweisung\\w*|regeln|vorgaben|consignes|regles|instruc\\w+|reglas|regras|istruzioni|regole|instructies|regels)`,
  `(?:no|without|keine?|ohne|sans|sin|sem|senza|aucune?) (?:rules|restrictions|limits|regeln|einschrankung\\w*|regles|limites?|restriccion\\w*|regras|restric\\w+|regole|limiti)\\b${NEAR}\\b(?:you|du|sie|tu|vous|usted|voce|te|lei)`,
  '(?:new|your|previous|secret) (?:instructions?|rules|guidelines|prompt|developer)|(?:system|developer|debug) (?:prompt|mode|message)|language model|autopilot|copilot|confidence|text above|i order you|new task',
  '(?:send|approve) (?:this|the|everything|all)\\b[^.!?\\n]{0,20}\\b(?:draft|review\\w*|everything)|approve everything|(?:call|run|execute) the (?:function|tool|command)|action: ?[a-z]+|send messages yourself|reply stop to|write (?:me )?(?:a |an |some )?(?:\\w+ )?(?:code|poem|essay|story|script)',
  '(?:your|deine|ihre|tus|sus|tes|vos|suas|tuas|tue|sue) (?:limits?|restrictions|programming|settings|regeln|grenzen|vorgaben|anweisungen|normas|reglas|limites|consignes|regles|instrucciones|regras|instrucoes|regole|impostazioni|istruzioni)|(?:plus|pas) de consignes|switch off the|(?:forget|vergiss|vergessen sie|oublie[zr]?|olvida|esquece|dimentica)\\b[^.!?\\n]{0,20}\\b(?:that you|you are|dass (?:du|sie)|que (?:tu|vous|eres|voce)|che (?:tu|sei))|(?:you (?:have been|were|are)|(?:has sido|fuiste|estas)|(?:voce )?foi|sei stat[oa]|tu as ete|du wurdest) (?:updated|reprogram\\w*|reset|upgraded|instructed|unlocked|jailbroken|actualizad\\w*|atualizad\\w*|aggiornat\\w*|umprogrammiert)|ti hanno (?:cambiato|riprogrammato)',
  // A part that it is to play.
  `from now on|you are (?:now|no longer)|you are an? \\w+ now|as an? (?:ai|assistant|bot)|if you are an? (?:ai|bot)|pretend|role-?play\\w*|act (?:as|like)|as if you (?:were|are)|(?:play|start) a game\\b${NEAR}\\n?[^\\n]{0,20}\\byou\\b|(?:imagine|suppose|assume|let us say) (?:that )?(?:you (?:were|are|had|have|could|can)|there (?:were|are) no)`,
  `(?:stell dir vor|stellen sie sich vor)\\b${NEAR}\\b(?:du|sie) (?:warst|bist|waren|sind|hatte\\w*|konnte\\w*|durft\\w*)|(?:tu|tun sie|tut) so\\b${NEAR}\\bals|du bist (?:ab (?:jetzt|sofort) |jetzt |nun |von nun an )(?:ein|mein|der|die)|spiel\\w* (?:die rolle|den|eine? rolle)`,
  `(?:fais|faites) (?:comme si|semblant)|imagine[zr]? que (?:tu|vous)|tu es (?:maintenant|desormais)|(?:haz|haga|hagamos) (?:como si|de cuenta)|finj[ae]|fing[ei]|imagin[ae] que (?:eres|fueras|es usted|no tienes|puedes|tu|voce)|(?:faz|faca) de conta|voce (?:agora )?e (?:agora )?(?:o meu|meu|minha)|(?:fai|faccia) (?:finta|come se)|immagin[ai] (?:di (?:essere|non|poter\\w*)|che tu)|doe alsof`,
  `(?:a partir d[e'’ ]*(?:ahora|agora|maintenant|hoy|hoje)|desde ahora|d['’a] ?ora in poi|d['’]ora in avanti|ab (?:jetzt|sofort)|von nun an|desormais|dorenavant|vanaf nu)\\b${NEAR}\\b(?:tu|eres|responde\\w*|responda\\w*|contesta\\w*|confirm\\w+|rispond\\w+|conferm\\w+|repond\\w+|antwort\\w*|bestatig\\w*|sagst|du|bist|voce|sei)`,
  `(?:improv\\w*|role|theatre|theater|fiction\\w*|character|movie|film|scene)\\b${NEAR}\\b(?:you are|you['’]re|your (?:part|role))|you(?:['’]re| are) (?:an?|the|my) [^.!?\\n]{0,25}\\bi(?:['’]m| am) (?:an?|the|your)|let me be (?:the|your)|(?:let me|i will|i['’]ll) be (?:the )?admin\\w*`,
  `(?:schlupf\\w*|versetz\\w*) (?:dich |sie sich )?(?:bitte )?in die (?:rolle|lage)|(?:ponte|pongase|imaginate) en (?:el (?:papel|lugar)|la piel)|mets[- ]toi a la place|mettez[- ]vous a la place|(?:coloque-se|ponha-se|se coloque) no lugar|mettiti nei panni|si metta nei panni|put yourself in`,
  // Words that it is to say.
  `repeat after me|word for word|(?:say|write|type|answer|reply|respond|copy|echo) (?:only |just |exactly |back )*(?:exactly|verbatim|the (?:word|words|sentence|phrase|line)|this (?:sentence|phrase|line)|the following (?:word|sentence|phrase|line|text)s?)|(?:say|write|type|answer|reply|respond) (?:with )?["“„«]|(?:answer|reply|respond) (?:only )?(?:in base64|with (?:only|just|["“„«]))|(?:answer|reply|respond) only (?:with|yes|no|in)`,
  'sprich (?:mir )?nach|sprechen sie (?:mir )?nach|(?:schreib\\w*|sag\\w*|antwort\\w*) (?:sie |mir |bitte |jetzt )*(?:nur|genau|exakt|wortlich|wort fur wort|(?:genau )?(?:den|diesen|folgenden) (?:satz|text))|sag\\w*\\b[^.!?\\n]{0,15}\\bzu allem|(?:immer|nur) (?:mit )?ja (?:sagen|antworten)',
  '(?:repete[zr]?|redis) apres moi|(?:ecris|ecrivez|dis|dites|reponds|repondez|recopie[zr]?) (?:-moi |moi )?(?:exactement|seulement|uniquement|toujours|mot pour mot|(?:cette|la) phrase|(?:que )?oui)',
  'repit[ae] (?:conmigo|despues de mi|tras (?:de )?mi|comigo|depois de mim|apos mim)|(?:escrib[ea]|diga|dime|responde|responda|contest[ae]|escrev[ae]) (?:exactamente|exatamente|literalmente|solo|apenas|siempre|sempre|palabra por palabra|(?:esta|la|essa|a) frase|que si\\b|que sim\\b)',
  '(?:ripeti|ripeta) (?:con me|dopo di me|insieme a me)|(?:scriv[ai]|dimmi|rispond[ai]|copi[ai]) (?:esattamente|solo|sempre|letteralmente|parola per parola|(?:questa|la) frase|di si)',
  `(?:the|dem|das|la|le|el|a|o|il|het) (?:words?|wort|palabra|mot|palavra|parola|woord) ["“„«']?\\p{L}+|(?:finish|complete|continue|translate|convert|rephrase|paraphrase|output|print|summari[sz]e) (?:this|that|the (?:following|text|sentence)|my|your|to plain|it and)|(?:in|only in) (?:capital letters|capitals|upper ?case|json|xml|code)|(?:ausschlie(?:ß|ss)lich|unicamente|exclusivamente|uniquement|esclusivamente) (?:mit|con|avec|par|com)`,
  'agree (?:with|to) (?:whatever|everything|anything)|(?:accept|approve|confirm) (?:every|any|all) \\w+|confirm(?:a|as|e|es|i)? (?:tudo|todo|tutto|tout|alles)|yes to (?:everything|every|all|any)',
  // An authority that it is to believe.
  "(?:i am|i['’]m|im|this is|here is|speaking as|ich bin|je suis|soy|sou|sono) (?:the |your |der |die |dein |ihr |l['’]|el |la |o |a |il )?(?:system ?|account ?|site ?)?(?:admin\\w*|developer|programmer|operator|entwickler\\w*|developpeur|desarrollador\\w*|desenvolvedor\\w*|sviluppatore|programador\\w*)|speaking as the|your (?:developer|creator|programmer|administrator|admin|maker)|(?:who|that|which) (?:made|makes|built|set up|created|trained|programmed|configured|runs?) you|linepace|openai|for (?:testing|test purposes|debugging)",
  'as (?:the |an? |your )?(?:\\w+ )?(?:admin\\w*|developer|supervisor|operator|ceo|head of \\w+)\\b',
  // Instructions that somebody else is said to have written.
  "(?:assistant|chatbot|ai|model|agent|assistent|asistente|assistente) (?:must|should|shall|will|has to|needs to|is to|soll|muss|darf|debe|tiene que|deve|doit)|(?:note|message|instructions?|hinweis|nota|consigne) (?:to|for|an|fur|para|per|pour|al|ao|all['’]) ?(?:the |your |den |die |el |la |o |l['’])?(?:assistant|bot|ai|model|agent|assistent\\w*|asistente|assistente|ki)",
  '(?:tell|inform|promise|give) (?:the|this|every|each) (?:customer|client|contact|lead|user)|whatever the (?:customer|client|user)|(?:the|this|every|each) (?:customer|client|user) (?:is|has|was|wants|asks|says|may|can|should)|(?:der kunde|dem kunden|den kunden|al cliente|el cliente|le client|au client|o cliente|ao cliente|il cliente) (?:\\w+)|(?:of|for|in|before|from|above) this (?:chat|conversation|dialogue|message)|(?:diese[rsmn]?|este|esta|cette|ce|essa|esse|questa) (?:chat|unterhaltung|conversacion|conversation|conversa|conversazione)',
  // A case that is not real.
  'hypothetical\\w*\\b[^.!?\\n]{0,30}\\b(?:you|your)|(?:purely|just|only|rein|nur|purement|puramente) (?:hypothe\\w+|theore\\w+|hipote\\w+|teori\\w+|ipotetic\\w+)|if you (?:were|had been) allowed|(?:wenn|falls) du (?:durftest|konntest)|si (?:tu|vous) (?:pouvais|pouviez|avais le droit)|si (?:pudieras|te dejaran)|se (?:voce pudesse|potessi)|what (?:could|would|can) you promise|how would (?:you|they|he|she|one) (?:phrase|word|put) (?:it|that|this)',
  // What it was told.
  `(?:print|output|reveal|show|repeat|display|list|translate|summari[sz]e|sum up|tell me|quote)\\b${NEAR}\\b(?:you were (?:given|told|sent)|verbatim|context|above|before (?:this|me)|instructions|prompt|first message|i can(?:not|['’]?t) see|hidden)|repeat everything|(?:which|what) (?:language |ai )?(?:model|llm|gpt) (?:are|do) you|your (?:setup|system|initial|original|hidden) (?:text|prompt|messages?|instructions?|settings)`,
  // A code that it is to read.
  'decode|base64|rot-?13|decodifica\\w*|entschlussel\\w*|decoder? ceci',
];

const WORDS = new RegExp(`(?<![\\p{L}\\d_])(?:${KINDS.join('|')})(?![\\p{L}\\d_])`, 'u');

const MARKS: readonly RegExp[] = [
  /(?:^|\n)\W{0,8}(?:system|assistant|instructions?|human|role)\b[^\n]{0,10}:/u,
  // Code, and how programs mark who speaks.
  /<\/?[a-z_|]{2,20}\|?>|\[\/?inst\]|<<|\{[{%]|"\s?[:}]|```|\/api\/|\w\(\w{0,30}=|';|\bsimulate:/u,
  // What somebody else is to say, and notes of others.
  /["“”„«][^"“”«»\n]{0,200}?\p{L}+[ ,]+\p{L}+[^"“”«»\n]{0,200}["“”»]|^\W{0,3}\[(?=[^\]\n]*\])[^\]\n]*\p{L} \p{L}/u,
  // Characters that hide what a text says.
  /[\u200B\u202D\u202E\u2060]/u,
];

export function instructsModel(text: string): boolean {
  const plain = plainText(text);
  return (
    MARKS.some((mark) => mark.test(plain)) ||
    [plain, joined(plain), unhyphenated(plain), digitsAsLetters(plain), rotated(plain), reversed(plain)].some(
      (reading) => WORDS.test(reading),
    ) ||
    hidesText(text)
  );
}

/** `i g n o r e  r u l e s`, as it is meant. */
const joined = (plain: string): string =>
  plain.replaceAll(/(?<![\p{L}\d])(\p{L}) (?=\p{L}(?![\p{L}\d]))/gu, '$1');

/** `i-g-n-o-r-e r-u-l-e-s`, as it is meant. */
const unhyphenated = (plain: string): string =>
  plain.replaceAll(/(?<![\p{L}\d])(\p{L})[._*/-](?=\p{L}(?![\p{L}\d]))/gu, '$1');

const LETTERS: Record<string, string> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a' };

/** `1gn0re`, as it is meant. */
const digitsAsLetters = (plain: string): string =>
  plain.replaceAll(/[013457@](?=[\p{L}013457@])|(?<=\p{L})[013457@]/gu, (digit) => LETTERS[digit] ?? digit);

/** By 13 letters. */
const rotated = (plain: string): string =>
  plain.replaceAll(/[a-z]/g, (letter) => String.fromCodePoint(((letter.charCodeAt(0) - 84) % 26) + 97));

const reversed = (plain: string): string => plain.split('').toReversed().join('');

const CODES = /(?<![\w+/])(?:(?:[\da-f]{2}[ ,]?){8,}|[\w+/-]{16,}={0,2})(?![\w+/=])/giu;
const READABLE = /^[\p{L}\p{P}\p{Zs}\d\n]+$/u;

/** Whether it contains words in hexadecimal digits or base64. Numbers and names of parcels are no words in either. */
const hidesText = (text: string): boolean =>
  (text.slice(0, 8000).match(CODES) ?? []).some((code) =>
    (['hex', 'base64'] as const).some((encoding) => {
      const bytes = Buffer.from(code.replaceAll(/[ ,]/g, ''), encoding);
      const read = bytes.toString('utf8');
      return bytes.length >= code.length / 3 - 1 && READABLE.test(read) && /\p{L}{2,} \p{L}/u.test(read);
    }),
  );
