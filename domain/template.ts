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

/** What a template may name: the lead's stored fields, read when the message is sent. */
export interface TemplateLead {
  firstName: string;
  lastName: string;
  email: string | null;
  phone: string | null;
  companyName: string;
  jobTitle: string;
  notes: string;
  customFields: Record<string, string>;
}

/** The tags a template may use; `else`, `elsif`, `when` and the closing tags belong to theirs. */
const TAGS = new Set(['if', 'unless', 'case', 'assign', 'capture', 'for', 'comment', 'raw']);

/** The filters a template may use: functions of one value that take linear time, and the same time twice. */
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

/** The bounds of a range are whole numbers up to this, written in the template. */
const MAX_RANGE = 1000;

/**
 * What parsing and rendering cost, in nanoseconds: estimates from above. They are counted instead of reading a clock,
 * so that a template has the same outcome in a preview and when it is sent, however busy the machine is.
 */
const COST = {
  /** Per character of tags and outputs, to parse them. */
  parse: 600,
  /** Per character of tags and outputs, to evaluate them once. */
  evaluate: 700,
  /** Per character or element of a value that is read or made. */
  value: 50,
  /** Per pair of characters when one text is searched for another: V8 needs their product in the worst case. */
  search: 0.5,
  /** Formatting a date. */
  date: 50_000,
} as const;

/** 50 ms. */
const BUDGET = 50_000_000;

/** Why a template gives no text. */
export class TemplateError extends Error {
  /** The `errorMessage` of a message that fails for it. */
  readonly reason: 'template_error' | 'template_too_expensive';

  constructor(reason: TemplateError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What one request, or the sending of one message, may spend on all its templates. */
export class TemplateBudget {
  #left = BUDGET;

  /** @throws TemplateError when less is left. */
  spend(cost: number): void {
    if (cost > 0) this.#left -= cost;
    if (this.#left < 0)
      throw new TemplateError('template_too_expensive', 'is a template that takes too long to render');
  }

  /** For parsing and rendering a text once, without what its loops, filters and operators cost. */
  spendOn(text: string, tokens: readonly TopLevelToken[]): void {
    const markup = tokens
      .filter((token) => !TypeGuards.isHTMLToken(token))
      .reduce((sum, { begin, end }) => sum + end - begin, 0);
    this.spend(text.length * COST.value + markup * (COST.parse + COST.evaluate));
  }
}

class MeteredContext extends Context {
  readonly budget: TemplateBudget;

  constructor(lead: TemplateLead | null, budget: TemplateBudget) {
    const memoryLimit = { use: (count: number) => budget.spend(count * COST.value) };
    super({ ...lead }, engine.options, { sync: true }, { memoryLimit: memoryLimit as never, liquid: engine });
    this.budget = budget;
  }
}

const budgetOf = (context: Context): TemplateBudget => (context as MeteredContext).budget;

/** A loop that pays for each of its turns. */
class MeteredFor extends ForTag {
  constructor(token: TagToken, rest: TopLevelToken[], liquid: Liquid, parser: Parser) {
    super(token, rest, liquid, parser);
    const end = rest[0]?.begin ?? token.input.length;
    const cost = (end - token.end) * COST.evaluate;
    this.templates.unshift({ token, render: (context) => budgetOf(context).spend(cost) } satisfies Template);
  }
}

/** The characters and elements of a value. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return Array.isArray(value) ? value.reduce<number>((sum, item) => sum + 1 + sizeOf(item), 0) : 1;
}

/** What reading values costs; the first is searched for the second. */
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

// Templates are written by tenants, and what they are filled with by anybody.
const engine = new Liquid({
  // There are no files, whatever a tag asks for.
  templates: {},
  ownPropertyOnly: true,
  strictFilters: true,
  operators,
  // What is put out may be captured and put out again.
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

// liquidjs makes a range before anybody can count it, and past 2^53 it never ends.
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

/** @throws TemplateError when it is no template or the budget does not suffice to render it. */
function parse(text: string, budget: TemplateBudget): Template[] {
  try {
    const tokens = new Tokenizer(text, operators).readTopLevelTokens(engine.options);
    budget.spendOn(text, tokens);
    return new Parser(engine).parseTokens(tokens);
  } catch (error) {
    throw templateError(error);
  }
}

function templateError(error: unknown): TemplateError {
  const cause = (error as { originalError?: unknown }).originalError ?? error;
  if (cause instanceof TemplateError) return cause;
  const told = error instanceof Error ? error.message.slice(0, 200) : '';
  return new TemplateError('template_error', `is not a valid template: ${told}`);
}

const isPlain = (text: string): boolean => !text.includes('{{') && !text.includes('{%');

/** What is wrong with a template, or null; its values are not known yet. */
export function templateProblem(text: string, budget = new TemplateBudget()): string | null {
  if (isPlain(text)) return null;
  try {
    parse(text, budget);
    return null;
  } catch (error) {
    return (error as TemplateError).message;
  }
}

/**
 * Renders Liquid over a lead; an unknown field is empty.
 * @throws TemplateError when it is no template or the budget does not suffice.
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

/** Messages are rendered when they are sent: a contact could otherwise have the model write `{{ notes }}`. */
export function withoutTemplates(text: string): string {
  return text.replaceAll(/\{(?=[{%])/g, '{ ');
}
