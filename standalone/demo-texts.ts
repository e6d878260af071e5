/** The people and the texts of the lively demo. */

export interface Person {
  firstName: string;
  lastName: string;
  phone: string;
  email: string;
}

const FIRST_NAMES = [
  'Priya',
  'Tom',
  'Aiko',
  'Luis',
  'Hannah',
  'Omar',
  'Grace',
  'Ben',
  'Chloe',
  'Ivan',
  'Elena',
  'Marcus',
  'Sofia',
  'Jonas',
  'Nadia',
  'Felix',
  'Amara',
  'Leo',
  'Yuki',
  'Carmen',
  'Samir',
  'Ingrid',
  'Theo',
  'Rosa',
  'Kofi',
];
const LAST_NAMES = [
  'Raman',
  'Becker',
  'Tanaka',
  'Moreno',
  'Weiss',
  'Haddad',
  'Nguyen',
  'Carter',
  'Laurent',
  'Petrov',
  'Silva',
  'Okafor',
  'Lindqvist',
  'Rossi',
  'Murphy',
  'Kaya',
  'Novak',
  'Diaz',
  'Schmidt',
  'Adeyemi',
  'Park',
  'Dubois',
  'Hughes',
];
/** With each, 555-0100 to 555-0199 belong to nobody. */
const AREA_CODES = ['415', '510', '628', '650', '408', '707'];

/** 570 people with numbers and addresses that belong to nobody, each in the zone of the first. */
export const people = (): Person[] =>
  Array.from({ length: 570 }, (_, index) => {
    const firstName = FIRST_NAMES[index % FIRST_NAMES.length] ?? '';
    const lastName = LAST_NAMES[(index + Math.floor(index / FIRST_NAMES.length)) % LAST_NAMES.length] ?? '';
    const number = String(Math.floor(index / AREA_CODES.length)).padStart(2, '0');
    return {
      firstName,
      lastName,
      phone: `+1${AREA_CODES[index % AREA_CODES.length]}55501${number}`,
      email: `${firstName}.${lastName}.${index}@example.com`.toLowerCase(),
    };
  });

/** What people answer, one after the other. */
export const REPLIES: readonly { text: string; tags?: string[] }[] = [
  { text: 'Yes, very interested! When could we see it?', tags: ['interested'] },
  { text: 'Is the rent with or without heating?' },
  { text: 'Thanks, but we just signed somewhere else.', tags: ['not interested'] },
  { text: 'How many rooms does it have?' },
  { text: 'Saturday works for me', tags: ['interested', 'viewing'] },
  { text: 'Could you send a few photos?' },
  { text: 'Yes please, for two people.', tags: ['interested'] },
  { text: 'Is there a lift?' },
  { text: 'Not right now, maybe in spring.' },
  { text: 'Sounds great, I will come on Thursday.', tags: ['interested', 'viewing'] },
];

const minute = `1 bedroom, 640 sq ft, balcony`;

export const TEXTS = {
  snippets: [
    [
      'viewing',
      'Hi {{ firstName }}, viewings are on Thursday from 5 pm and on Saturday from 10 am. Which suits you better?',
    ],
    ['deposit', 'The deposit is two months of rent, and you get it back within 30 days of moving out.'],
  ],
  waitingList: [
    { message: 'Hi {{ firstName }}, you asked us about flats near the harbour. Are you still looking?' },
    {
      message:
        'Hi {{ firstName }}, two flats on Harbour Street become free in January. Shall I send you the details?',
      delay: { days: 3 },
    },
  ],
  winter: [
    {
      variants: [
        {
          body: 'Hi {{ firstName }}, move in before January and the first month is on us. Shall I send you what is free?',
          weight: 1,
        },
        {
          body: 'Hi {{ firstName }}, are you still looking for a flat? Three are free this month.',
          weight: 1,
        },
      ],
    },
    {
      message: 'Hi {{ firstName }}, one of the three is taken. Would you like to see the others?',
      delay: { days: 2 },
    },
    {
      message: 'Hi {{ firstName }}, the offer ends on Friday. Any questions I can answer?',
      delay: { days: 3 },
    },
  ],
  inquiry: 'Hi {{ firstName }}, thanks for your inquiry! When would be a good time to call you?',
  inquiryByMail:
    'Hi {{ firstName }},\n\nthank you for your inquiry. The flat is still free; viewings are on Thursday and Saturday.\n\nHarbour Homes',
  lateQuestion: 'Hi, is the flat on Harbour Street still available?',
  viewing: `Hi {{ firstName }}, the flat on Harbour Street (${minute}) is free from January. Would you like to see it?`,
  saturday: 'Saturday at 10 works, see you there!',
  note: 'He asked about parking before. There is one place left in the yard.',
  drafts: {
    free: 'Yes, it is. I could show it to you on Thursday at 5 pm or on Saturday at 10 am. Which suits you better?',
    deposit:
      'The deposit is two months of rent, 2,900 in total. You get it back within 30 days of moving out.',
    dogs: 'Small dogs are welcome! Would you like to bring yours along to the viewing on Saturday?',
  },
  knowledgeBase: {
    mode: 'copilot',
    debounceSeconds: 20,
    instructions: 'Answer in two sentences at most. Offer a viewing on Thursday or Saturday.',
    documents: [
      {
        title: 'House rules',
        text: 'Small dogs are welcome. Parking is 60 a month. The deposit is two months of rent.',
      },
    ],
  },
  /** A PDF of one empty page. */
  floorPlan: `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj
trailer<</Root 1 0 R>>
`,
};
