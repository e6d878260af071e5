// oxlint-disable-next-line no-restricted-imports -- this is the one place
import {
  Context,
  defaultOperators,
  filters,
  ForTag,
  Liquid,
  Parser,
  type TagToken,
  type Template,
  Tokenizer,
  type TopLevelToken,
  TypeGuards,
} from 'liquidjs';
import { composed, INVISIBLE, typedName } from '../base/text.ts';

/** The variables of a template: the lead's fields at the time the message is sent. */
export interface TemplateLead {
  firstName: string;
  lastName: string;
  email: string | null;
  phone: string | null;
  companyName: string;
  jobTitle: string;
  notes: string;
  contactOwnerEmail: string | null;
  timezone: string | null;
  customFields: Record<string, string>;
}

/** The allowed tags; `else`, `elsif`, `when` and closing tags are part of them. */
const TAGS = new Set(['if', 'unless', 'case', 'assign', 'capture', 'for', 'comment', 'raw']);

/** The allowed filters: deterministic functions whose cost can be computed from the size of their arguments. */
const FILTERS = new Set([
  // Any value.
  'default',
  'size',
  // Texts.
  'append',
  'capitalize',
  'downcase',
  'escape',
  'escape_once',
  'lstrip',
  'newline_to_br',
  'normalize_whitespace',
  'prepend',
  'remove',
  'remove_first',
  'remove_last',
  'replace',
  'replace_first',
  'replace_last',
  'rstrip',
  'slice',
  'split',
  'squish',
  'strip',
  'strip_html',
  'strip_newlines',
  'truncate',
  'truncatewords',
  'upcase',
  'url_decode',
  'url_encode',
  // Lists.
  'compact',
  'concat',
  'first',
  'join',
  'last',
  'reverse',
  'uniq',
  // Numbers.
  'abs',
  'at_least',
  'at_most',
  'ceil',
  'divided_by',
  'floor',
  'minus',
  'modulo',
  'plus',
  'round',
  'times',
  // Dates.
  'date',
]);

/** The bounds of a range must be integer literals with at most this absolute value. */
const MAX_RANGE = 1000;

/**
 * Upper estimates of the time to parse and render, in nanoseconds. Time is estimated and not measured, so that a
 * template that renders in a preview also renders when it is sent, however busy the machine is.
 */
const COST = {
  /** Per character of tags and outputs, for parsing. */
  parse: 600,
  /** Per character of tags and outputs, for each evaluation. */
  evaluate: 700,
  /** Per character or element of a value that is read or created. */
  value: 50,
  /** Per pair of characters: a text search takes time proportional to the product of both lengths in the worst case. */
  search: 0.5,
  /** Per formatted date. */
  date: 50_000,
} as const;

/** 50 ms. */
const BUDGET = 50_000_000;

/** A template could not be parsed or rendered. */
export class TemplateError extends Error {
  /** The `errorMessage` of a message that fails because of it. */
  readonly reason: 'template_error' | 'template_too_expensive';

  constructor(reason: TemplateError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The cost budget shared by all templates of one request, or of sending one message. */
export class TemplateBudget {
  #left = BUDGET;

  /** @throws TemplateError if the budget is exceeded. */
  spend(cost: number): void {
    if (cost > 0) this.#left -= cost;
    if (this.#left < 0)
      throw new TemplateError('template_too_expensive', 'is a template that takes too long to render');
  }

  /** Charges for parsing and rendering a text once; loops, filters and operators are charged when they run. */
  spendOn(text: string, tokens: readonly TopLevelToken[]): void {
    const markup = tokens
      .filter((token) => !TypeGuards.isHTMLToken(token))
      .reduce((sum, { begin, end }) => sum + end - begin, 0);
    this.spend(text.length * COST.value + markup * (COST.parse + COST.evaluate));
  }
}

/** A custom field is found by its name as people type it, and as it is stored. */
const variablesOf = (lead: TemplateLead | null): object => {
  if (lead === null) return {};
  const fields = Object.entries(lead.customFields);
  const typed = fields.map(([name, value]) => [typedName(name), value] as const);
  return { ...lead, customFields: Object.fromEntries([...typed, ...fields]) };
};

class MeteredContext extends Context {
  readonly budget: TemplateBudget;

  constructor(lead: TemplateLead | null, budget: TemplateBudget) {
    const memoryLimit = { use: (count: number) => budget.spend(count * COST.value) };
    super(
      variablesOf(lead),
      engine.options,
      { sync: true },
      { memoryLimit: memoryLimit as never, liquid: engine },
    );
    this.budget = budget;
  }
}

const budgetOf = (context: Context): TemplateBudget => (context as MeteredContext).budget;

/** Charges for each iteration. */
class MeteredFor extends ForTag {
  constructor(token: TagToken, rest: TopLevelToken[], liquid: Liquid, parser: Parser) {
    super(token, rest, liquid, parser);
    const end = rest[0]?.begin ?? token.input.length;
    const cost = (end - token.end) * COST.evaluate;
    this.templates.unshift({ token, render: (context) => budgetOf(context).spend(cost) } satisfies Template);
  }
}

/** The number of characters and elements. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return Array.isArray(value) ? value.reduce<number>((sum, item) => sum + 1 + sizeOf(item), 0) : 1;
}

/** The cost of reading values and, if `searches`, of searching the first for the second. */
function costOf(values: readonly unknown[], searches: boolean): number {
  const sizes = values.map(sizeOf);
  const [text = 0, pattern = 0] = sizes;
  const read = sizes.reduce((sum, size) => sum + size, 0) * COST.value;
  return searches ? read + text * pattern * COST.search : read;
}

const SEARCHING = /^(?:remove|replace|split)/;

const operators = Object.fromEntries(
  Object.entries(defaultOperators).map(([name, evaluate]) => [
    name,
    (...args: [unknown, unknown, Context]) => {
      // `not` has one operand.
      const context = args.at(-1) as Context;
      budgetOf(context).spend(costOf(args.slice(0, -1), name === 'contains'));
      return evaluate(...args);
    },
  ]),
);

// Templates come from tenants and values from anybody, so neither is trusted.
const engine = new Liquid({
  // No template can be loaded from files.
  templates: {},
  ownPropertyOnly: true,
  strictFilters: true,
  // A lead without a last name has an empty one, which is true in Liquid.
  jsTruthy: true,
  operators,
  // Output is charged because `capture` can read it again.
  outputEscape: function (this: { context: Context }, value: unknown) {
    budgetOf(this.context).spend(costOf([value], false));
    return value;
  } as never,
});

for (const name of Object.keys(engine.tags)) if (!TAGS.has(name)) delete engine.tags[name];
engine.registerTag('for', MeteredFor);
for (const name of Object.keys(engine.filters)) delete engine.filters[name];
for (const name of FILTERS) {
  const filter = filters[name] as (...args: unknown[]) => unknown;
  engine.registerFilter(name, function (...args) {
    const cost = costOf(args, SEARCHING.test(name)) + (name === 'date' ? COST.date : 0);
    budgetOf(this.context).spend(cost);
    return filter.apply(this, args);
  });
}

// liquidjs builds a range before its size can be charged, and never terminates beyond 2^53.
const readRange = Tokenizer.prototype.readGroupOrRange;
Tokenizer.prototype.readGroupOrRange = function (this: Tokenizer) {
  const range = readRange.call(this);
  if (!TypeGuards.isRangeToken(range)) return range;
  const isBound = (token: unknown): boolean =>
    TypeGuards.isNumberToken(token) &&
    Number.isInteger(token.content) &&
    Math.abs(token.content) <= MAX_RANGE;
  if (isBound(range.lhs) && isBound(range.rhs)) return range;
  throw this.error(`the bounds of a range must be whole numbers up to ${MAX_RANGE}`);
};

/** A value that begins with a quotation mark of phones and word processors, outside of texts in plain quotes. */
const CURLY = /(?:"[^"]*"|'[^']*'|[^"'‘’“”„«»])*(?:^|[\s:,=<>(])(?<sign>[‘’“”„«»])/y;

/**
 * Refuses what liquidjs reads as a name that no lead has, so that it would silently be empty.
 * @throws TemplateError that names the place.
 */
function refuseTypography(text: string, token: TopLevelToken): void {
  if (TypeGuards.isHTMLToken(token)) return;
  const markup = text.slice(token.begin, token.end);
  const refuse = (offset: number, what: string): never => {
    const before = text.slice(0, token.begin + offset).split('\n');
    throw new TemplateError(
      'template_error',
      `is not a valid template: ${what}, line:${before.length}, col:${(before.at(-1)?.length ?? 0) + 1}`,
    );
  };
  const invisible = markup.search(INVISIBLE);
  if (invisible >= 0) refuse(invisible, `"${markup.slice(0, 60)}" contains an invisible character`);
  CURLY.lastIndex = markup.startsWith('{{-') || markup.startsWith('{%-') ? 3 : 2;
  const curly = CURLY.exec(markup);
  if (!curly) return;
  const sign = curly.groups?.['sign'] ?? '';
  refuse(CURLY.lastIndex - 1, `texts need plain quotation marks (" or '), not ${sign}`);
}

const tokensOf = (text: string): TopLevelToken[] =>
  new Tokenizer(text, operators).readTopLevelTokens(engine.options);

/** Composes the names in a template, and leaves what is sent as it was written. */
const composedMarkup = (text: string): string =>
  tokensOf(text)
    .map((token) => {
      const part = text.slice(token.begin, token.end);
      return TypeGuards.isHTMLToken(token) ? part : composed(part);
    })
    .join('');

/** @throws TemplateError if the template is invalid or exceeds the budget. */
function parse(written: string, budget: TemplateBudget): Template[] {
  try {
    const text = composed(written) === written ? written : composedMarkup(written);
    const tokens = tokensOf(text);
    budget.spendOn(text, tokens);
    for (const token of tokens) refuseTypography(text, token);
    return new Parser(engine).parseTokens(tokens);
  } catch (error) {
    throw templateError(error);
  }
}

function templateError(error: unknown): TemplateError {
  const cause = (error as { originalError?: unknown }).originalError ?? error;
  if (cause instanceof TemplateError) return cause;
  const message = error instanceof Error ? error.message.slice(0, 200) : '';
  return new TemplateError('template_error', `is not a valid template: ${message}`);
}

/** Whether there is nothing to render. */
export const isPlain = (text: string): boolean => !text.includes('{{') && !text.includes('{%');

/** Validates a template without rendering it. @returns the problem, or null. */
export function templateProblem(text: string, budget = new TemplateBudget()): string | null {
  if (isPlain(text)) return null;
  try {
    parse(text, budget);
    return null;
  } catch (error) {
    return (error as TemplateError).message;
  }
}

/** The names that a template reads and does not assign, each with the properties read of it. Empty if it is not valid. */
export function templateNames(
  text: string,
  budget = new TemplateBudget(),
): readonly (string | undefined)[][] {
  if (isPlain(text)) return [];
  try {
    const templates = parse(text, budget);
    return engine
      .globalVariableSegmentsSync(templates, { partials: false })
      .map((segments) => segments.map((one) => (typeof one === 'string' ? one : undefined)));
  } catch (error) {
    if (error instanceof TemplateError) return [];
    throw error;
  }
}

/**
 * Renders a Liquid template; an unknown variable is empty.
 * @throws TemplateError if the template is invalid or exceeds the budget.
 */
export function renderTemplate(
  text: string,
  lead: TemplateLead | null,
  budget = new TemplateBudget(),
): string {
  if (isPlain(text)) return text;
  const templates = parse(text, budget);
  try {
    return String(engine.renderSync(templates, new MeteredContext(lead, budget)));
  } catch (error) {
    throw templateError(error);
  }
}

/** Breaks Liquid markup in model output, which is rendered when it is sent: a contact could make the model write `{{ notes }}`. */
export function withoutTemplates(text: string): string {
  return text.replaceAll(/\{(?=[{%])/g, '{ ');
}

/** The template of a text that is none: it renders to the text as it is. */
export const literalTemplate = (text: string): string =>
  /\{[{%]/.test(text) ? `{% raw %}${text.replaceAll(/\{%(?=-?\s*endraw)/g, '{ %')}{% endraw %}` : text;
