/** What a column of a CSV file can be: a field of leads, or `fullName`, of which first and last name are made. */
export const COLUMN_FIELDS = [
  'firstName',
  'lastName',
  'fullName',
  'email',
  'phone',
  'companyName',
  'jobTitle',
  'notes',
  'contactOwnerEmail',
  'timezone',
  'consentSource',
  'consentAt',
] as const;
export type ColumnField = (typeof COLUMN_FIELDS)[number];

/**
 * Known column names as letters alone (`E-Mail 2` is `email`), in English, German, French, Spanish, Portuguese, Italian, Dutch,
 * Danish, Swedish and Polish, and as Google Contacts, Outlook, HubSpot and Salesforce export them. A name with accents is known without them as well.
 */
const NAMES: Record<ColumnField, string> = {
  firstName:
    'firstname first givenname forename fname vorname rufname prénom prénoms nombre nombres nombredepila primernombre nome primeironome nomepróprio voornaam fornavn förnamn imię',
  lastName:
    'lastname last surname familyname lname nachname familienname zuname nom nomdefamille apellido apellidos primerapellido sobrenome apelido últimonome cognome achternaam familienaam efternavn efternamn nazwisko',
  fullName:
    'fullname name contactname displayname vollständigername vorundnachname ansprechpartner nomcomplet nometprénom prénometnom nombrecompleto nombreyapellidos nomecompleto nomeecognome volledigenaam naam navn namn imięinazwisko',
  email:
    'email emails emailaddress emailaddresses mail mailaddress emailvalue emailwork emailhome emailpersonal emailbusiness primaryemail workemail businessemail personalemail homeemail otheremail contactemail emailadresse mailadresse courriel adresseemail adressemail adressecourriel adresseélectronique correo correoelectrónico correoelectronico direccióndecorreo direccióndecorreoelectrónico direccióndeemail correioeletrónico correioeletrônico endereçodeemail endereçodecorreioeletrónico indirizzoemail indirizzomail postaelettronica indirizzodipostaelettronica emailadres mailadres epost epostadress epostadresse mailadresse adresemail',
  phone:
    'phone phones phonenumber phonenumbers phoneno phonevalue phonemobile phonework phonehome companymainphone mainphone contactno mobileno whatsapp whatsappnumber telephone telephonenumber tel mobile mobilephone mobilenumber mobilephonenumber cell cellphone cellnumber cellphonenumber workphone businessphone homephone otherphone primaryphone contactphone contactnumber telefon telefonnummer telefonnr telefongeschäftlich telefonprivat telefonmobil telefonnummerprivat telefonnummergeschäftlich telefonnummermobil festnetz festnetznummer rufnummer handy handynummer handynr mobil mobilnummer mobiltelefon mobilfunk mobilfunknummer téléphone tél téléphonemobile téléphoneportable téléphoneprofessionnel téléphoneprincipal téléphonedomicile numérodetéléphone ndetéléphone numérodemobile numérodeportable portable teléfono teléfonos teléfonomóvil teléfonocelular teléfonotrabajo teléfonoparticular númerodeteléfono nºdeteléfono númerodemóvil móvil celular telefone telefonecelular telefonemóvel telemóvel númerodetelefone númerodecelular númerodetelemóvel telefono telefonocellulare telefonoprincipale numeroditelefono numerodicellulare cellulare telefoon telefoonnummer telefoonmobiel mobiel mobielnummer mobieletelefoon gsm gsmnummer mobilnummer mobiltelefon numertelefonu telefonkomórkowy komórka',
  companyName:
    'company companyname organization organizationname organisation organisationname accountname businessname associatedcompany employer firma firmenname unternehmen société nomdelasociété entreprise nomdelentreprise empresa nombredelaempresa compañía organización nomedaempresa organização azienda società nomeazienda organizzazione bedrijf bedrijfsnaam organisatie virksomhed firmanavn företag företagsnamn firmanazwa',
  jobTitle:
    'jobtitle title organizationtitle position jobposition role berufsbezeichnung funktion stellenbezeichnung poste fonction intituléduposte cargo puesto função ruolo qualifica mansione functie functietitel functienaam stilling befattning stanowisko',
  notes:
    'notes note comment comments remark remarks notiz notizen bemerkung bemerkungen anmerkung anmerkungen kommentar kommentare remarque remarques commentaire commentaires nota notas comentario comentarios observaciones observação observações comentário comentários commento commenti osservazioni opmerking opmerkingen notitie notities',
  contactOwnerEmail: 'contactowneremail owneremail',
  timezone: 'timezone zeitzone fuseauhoraire zonahoraria husohorario fusohorário fusoorario tijdzone',
  consentSource: 'consentsource',
  consentAt: 'consentat consentdate',
};

/** The letters of a name, without case. A column may be called `constructor`, which a Map knows nothing of. */
const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/\P{L}/gu, '');

const WITHOUT_ACCENTS: Record<string, string> = {
  á: 'a',
  à: 'a',
  ã: 'a',
  ä: 'a',
  ç: 'c',
  é: 'e',
  è: 'e',
  ê: 'e',
  í: 'i',
  ñ: 'n',
  ó: 'o',
  ô: 'o',
  õ: 'o',
  ú: 'u',
  ü: 'u',
};

const plain = (name: string): string =>
  Array.from(name, (letter) => WITHOUT_ACCENTS[letter] ?? letter).join('');

const FIELD_BY_NAME: ReadonlyMap<string, ColumnField> = new Map(
  Object.entries(NAMES).flatMap(([field, names]) =>
    names
      .split(' ')
      .flatMap((name) => [name, plain(name)].map((known) => [known, field as ColumnField] as const)),
  ),
);

/** As templates name custom fields. */
const CUSTOM = /^customFields\./i;

/** The name of the custom field that a column is. */
export const customFieldName = (column: string): string => column.replace(CUSTOM, '');

/** The field that a column is, by its name; null for a custom field. */
export const columnField = (column: string): ColumnField | null =>
  CUSTOM.test(column) ? null : (FIELD_BY_NAME.get(lettersOf(column)) ?? null);

/** What people, spreadsheets and exports write into a cell that has no address, in the languages of the column names. */
const NO_ADDRESS =
  /^(?:n\.?[/.]?a\.?|none|null|nil|nan|undefined|unknown|not (?:provided|available|applicable|given)|no (?:phone|email|e-mail|number)|tb[ad]|blank|empty|no|x+|0+|keine?|unbekannt|k\.? ?a\.?|aucune?|inconnue?|ningun[oa]|no tiene|desconocid[oa]|nenhuma?|s\/n|sin (?:tel[eé]fono|correo|email|e-mail|n[uú]mero)|desconhecid[oa]|nessun[oa]|sconosciut[oa]|geen|onbekend|#[\p{L}/]{2,8}[!?]?|[-–—_.?*/]+)$/iu;

/** Characters that nobody sees, which copied cells have. */
const INVISIBLE = /[\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/g;
/** `Ada <ada@example.com>` */
const NAMED_ADDRESS = /^[^<>]*<([^<>\s@]+@[^<>\s@]+)>$/;

/** `mailto:ada@example.com`, `* ada@example.com` as Google marks the primary one, `Ada <ada@example.com>`. */
const bare = (part: string): string =>
  part
    .replaceAll(INVISIBLE, '')
    .trim()
    .replace(/^\*\s+/, '')
    .replace(/^mailto:/i, '')
    .replace(NAMED_ADDRESS, '$1');

/** `(none)`, `[n/a]`. */
const isNone = (text: string): boolean => NO_ADDRESS.test(text.trim().replace(/^[([<](.*)[)\]>]$/, '$1'));

/** Several email addresses without another separator: `ada@example.com or a@example.com`. */
function withoutSpaces(part: string): string[] {
  const emails = part.match(/[^\s<>]+@[^\s<>]+/g) ?? [];
  return emails.length > 1 ? emails : [part];
}

/**
 * The addresses in a cell, which separates several by `;`, `,`, `|`, ` / `, lines or, as Google Contacts, ` ::: `; emails also by spaces,
 * numbers by a `/` before a `+`.
 */
export const addressesIn = (cell: string): string[] =>
  isNone(cell.replaceAll(/\s*\/\s*/g, '/'))
    ? []
    : cell
        .split(/:::|[;,|\n\r\u2028\u2029]|\s\/\s|\/(?=\s*\+)/)
        .flatMap(withoutSpaces)
        .map(bare)
        .filter((part) => part !== '' && !isNone(part));
