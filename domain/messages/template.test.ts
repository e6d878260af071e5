import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growth, LINEAR } from '#test/support/growth.ts';
import {
  renderTemplate,
  TemplateBudget,
  TemplateError,
  type TemplateLead,
  templateProblem,
} from './template.ts';

const lead: TemplateLead = {
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: null,
  phone: '+14155550100',
  companyName: 'Analytical',
  jobTitle: '',
  notes: 'a'.repeat(10_000),
  contactOwnerEmail: 'dana@linepace.example',
  timezone: null,
  customFields: { city: 'London', blank: '', far: '9007199254740992' },
};

const render = (text: string): string => renderTemplate(text, lead);
const failure = (text: string, budget?: TemplateBudget): TemplateError => {
  try {
    renderTemplate(text, lead, budget);
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error('the template was rendered');
};

describe('a template', () => {
  it.each([
    ['Hello {{ firstName | default: "there" }}{{ nothing }}', 'Hello Ada'],
    ['{{ customFields.city | upcase }} {{ customFields["city"] | size }}', 'LONDON 6'],
    ['{% if firstName == "Ada" and notes contains "a" %}yes{% else %}no{% endif %}', 'yes'],
    ['{% unless jobTitle == "" %}x{% endunless %}{% if false %}{% elsif email %}{% else %}z{% endif %}', 'z'],
    ['{% case customFields.city %}{% when "Paris", "London" %}EU{% else %}?{% endcase %}', 'EU'],
    ['{% assign a = "x,y" | split: "," %}{% for i in a %}{{ i }}{{ forloop.index }}{% endfor %}', 'x1y2'],
    ['{% for i in (1..3) reversed %}{{ i }}{% endfor %}', '321'],
    ['{% capture a %}{{ firstName }}!{% endcapture %}{{ a }}{{ a }}', 'Ada!Ada!'],
    ['{% raw %}{{ firstName }}{% endraw %}{% comment %}{{ firstName }}{% endcomment %}', '{{ firstName }}'],
    ['{{ "(not a range) %}" | append: "}}" }}', '(not a range) %}}}'],
  ])('may contain %s', (text, expected) => {
    expect(templateProblem(text)).toBeNull();
    expect(render(text)).toBe(expected);
  });

  it.each([
    ['{% if jobTitle %}{{ jobTitle }}{% else %}there{% endif %}', 'there'],
    ['{% unless jobTitle %}none{% endunless %}', 'none'],
    ['{% if email or customFields.blank or nothing %}x{% else %}none{% endif %}', 'none'],
    ['{{ contactOwnerEmail }}{{ timezone | default: "no zone" }}', 'dana@linepace.exampleno zone'],
    ['{% if firstName and jobTitle == "" %}{{ firstName }}{% endif %}', 'Ada'],
  ])('takes a field without a text as false: %s', (text, expected) => {
    expect(render(text)).toBe(expected);
  });

  it.each([
    'include "x"',
    "include '.data/secrets.json'",
    'include "../../../../etc/passwd"',
    'include "/etc/passwd"',
    'include firstName',
    'render "package.json"',
    'layout "package.json"',
    'block a %}{% endblock',
    'tablerow i in (1..3) %}{% endtablerow',
    'cycle "a", "b"',
    'increment a',
    'decrement a',
    'echo firstName',
    'liquid echo firstName',
    '# comment',
    'break',
    'continue',
    'unknown',
    'constructor',
    '__proto__',
    'toString',
  ])('may not contain the tag %s', (tag) => {
    expect(templateProblem(`Hello {% ${tag} %}`)).toMatch(/^is not a valid template: /);
    expect(templateProblem(`{% if a %}{%- ${tag} -%}{% endif %}`)).toMatch(/^is not a valid template: /);
  });

  it.each([
    'json',
    'inspect',
    'where_exp: "a", "b"',
    'sample',
    'hmac_sha256: "a"',
    'toString',
    '__proto__',
    'nope',
  ])('may not contain the filter %s', (filter) => {
    expect(templateProblem(`{{ firstName | ${filter} }}`)).toMatch(
      /^is not a valid template: undefined filter/,
    );
  });

  it.each([
    ['Hi {{ lastName | default: ‘there’ }}!', '‘', 'col:27'],
    ['Hi {{ lastName | default: “there” }}!', '“', 'col:27'],
    ['Hi {{ lastName | default:’there’ }}!', '’', 'col:26'],
    ['Hi\n{% if firstName == “Ada” %}x{% endif %}', '“', 'line:2, col:20'],
    ['{{ „Ada“ | upcase }}', '„', 'col:4'],
    ['{{ "a" | append: “b” }}', '“', 'col:18'],
  ])('may not have typographic quotation marks around a text: %s', (text, sign, place) => {
    expect(templateProblem(text)).toMatch(/^is not a valid template: /);
    expect(templateProblem(text)).toContain(sign);
    expect(templateProblem(text)).toContain(place);
  });

  it.each([
    '{{ first\u200BName }}',
    '{{\u200B firstName }}',
    'a\n{% if\uFEFF firstName %}x{% endif %}',
    '{{ first\u00ADName }}',
  ])('may not have invisible characters in a tag: %j', (text) =>
    expect(templateProblem(text)).toMatch(
      /^is not a valid template: .*invisible character.*, line:\d+, col:\d+/,
    ),
  );

  it.each([
    '‘Hi’ {{ firstName }} “there”\u200B',
    '{{ firstName | append: "’s “own”" }}',
    "{{ firstName | default: 'l’ami' }}",
  ])('may have both elsewhere: %s', (text) => expect(templateProblem(text)).toBeNull());

  it.each([
    '(1..1000000000)',
    '(9007199254740992..9007199254740993)',
    '(1..customFields.far)',
    '(1.5..3)',
    '((1..2)..3)',
  ])('may not contain the range %s', (range) => {
    expect(templateProblem(`{% for i in ${range} %}{% endfor %}`)).toMatch(/range/);
    expect(templateProblem(`{% assign a = ${range} %}`)).toMatch(/range/);
    expect(templateProblem(`{{ a | default: ${range} }}`)).toMatch(/range/);
  });

  it('finds a field whose name is written with decomposed accents on either side', () => {
    const named = (name: string) => ({ ...lead, customFields: { [name]: 'M' } });
    for (const form of ['NFC', 'NFD'] as const) {
      const template = '{{ customFields.Größe }} {{ customFields["Größe"] }}'.normalize(form);
      for (const stored of ['NFC', 'NFD'] as const)
        expect(renderTemplate(template, named('Größe'.normalize(stored)))).toBe('M M');
    }
    // As names could be stored.
    expect(renderTemplate('{{ customFields[" size "] }}{{ customFields.size }}', named(' size '))).toBe('MM');
  });

  it('leaves decomposed accents in the text as they were written', () => {
    const [text, name] = ['Für Größe'.normalize('NFD'), 'Zoë'.normalize('NFD')];
    expect(renderTemplate(`${text} {{ firstName }}`, { ...lead, firstName: name })).toBe(`${text} ${name}`);
  });

  it.each(['constructor', '__proto__', 'toString', 'firstName.constructor', 'customFields.__proto__'])(
    'accesses only the fields of the lead: not %s',
    (path) => {
      expect(render(`[{{ ${path} }}{{ ${path}.constructor }}]`)).toBe('[]');
    },
  );
});

describe('the budget of a template', () => {
  const dense = (text: string) => text.repeat(Math.floor(10_000 / text.length));

  it.each([
    '{% for a in (1..1000) %}{% for b in (1..1000) %}{% for c in (1..1000) %}{% endfor %}{% endfor %}{% endfor %}',
    `{% assign a = "x" %}${'{% assign a = a | append: a %}'.repeat(40)}`,
    `{% assign a = "x" %}${'{% capture a %}{{ a }}{{ a }}{% endcapture %}'.repeat(40)}`,
    '{{ notes | replace: "a", notes | replace: "a", notes }}',
    '{{ notes | split: "" | join: notes }}',
    '{% assign n = notes | slice: 0, 4000 | append: "b" | append: notes %}{% if notes contains n %}{% endif %}{{ notes | remove: n }}{{ notes | remove_last: n }}',
    `{% for i in (1..1000) %}{% if x %}${'{% elsif x %}'.repeat(600)}{% endif %}{% endfor %}`,
    `{% for i in (1..1000) %}{{ a${'.a'.repeat(4000)} }}{% endfor %}`,
    `{% for i in (1..1000) %}{% case 2 %}{% when ${'1,'.repeat(4000)}1 %}{% endcase %}{% endfor %}`,
    `{% for i in (1..1000) %}{% if ${'notes == notes or '.repeat(300)}a %}{% endif %}{% endfor %}`,
    '{% for i in (1..1000) %}{{ "now" | date: "%c" }}{{ "now" | date: "%c" }}{% endfor %}',
    '{{ "now" | date: "%999999999d" }}',
    '{{ notes | slice: 0, 999999999999 }}',
  ])('stops %s', (text) => {
    expect(failure(text)).toMatchObject({ reason: 'template_too_expensive' });
  });

  it('suffices for a long message with many fields and a loop', () => {
    const text = `${'Hello {{ firstName | default: "there" | capitalize }}, '.repeat(150)}{% for i in (1..100) %}{{ i }}{% endfor %}`;
    expect(render(text)).toContain('Hello Ada, Hello Ada');
  });

  it('is shared by all templates of a request', () => {
    const budget = new TemplateBudget();
    const text = '{% for i in (1..1000) %}{{ i }}{% endfor %}';
    expect(renderTemplate(text, lead, budget)).toMatch(/^123/);
    const renders = () => Array.from({ length: 50 }, () => renderTemplate(text, lead, budget));
    expect(renders).toThrow(TemplateError);
    expect(failure('{{ firstName }}', budget)).toMatchObject({ reason: 'template_too_expensive' });
    expect(renderTemplate('plain', lead, budget)).toBe('plain');
  });

  it.each([
    ['outputs', '{{a}}'],
    ['tags', '{%if a%}{%endif%}'],
    ['nested tags', '{%if a%}'],
    ['open outputs', '{{'],
    ['open raw blocks', '{%raw%}{%endraw '],
    ['captures', '{%capture a%}'],
    ['comments', '{%comment%}'],
    ['quotes', `{{"\\"`],
  ])('allows %s, which parse in linear time', (_, unit) => {
    const parses = (text: string) => templateProblem(text);
    expect(growth((length) => unit.repeat(length / unit.length), parses, 2500)).toBeLessThan(LINEAR);
  });

  it.each([
    ['filters', '{{a', '|abs', '}}'],
    ['properties', '{{a', '.a', '}}'],
    ['indices', '{{a', '[a]', '}}'],
    ['conditions', '{%if a', ' or a', '%}{%endif%}'],
    ['branches', '{%if a%}', '{%elsif a%}', '{%endif%}'],
    ['values', '{%case a%}{%when 1', ',1', '%}{%endcase%}'],
  ])('allows %s, which render in linear time', (_, before, unit, after) => {
    const text = (length: number) => before + unit.repeat(length / unit.length) + after;
    expect(growth(text, render, 2000)).toBeLessThan(LINEAR);
  });

  it('holds for every template, which renders or throws a TemplateError', () => {
    const words =
      '{{ }} {% %} {%- -%} | : , . ( ) [ ] .. " \' \\ = if else elsif endif for in endfor case when endcase assign ' +
      'capture raw endraw comment unless include liquid a firstName notes customFields forloop __proto__ constructor ' +
      'append split replace date slice contains and limit reversed 1 1000 -1 1e9 nil true empty blank';
    const part = fc.oneof(fc.constantFrom(' ', ...words.split(' ')), fc.string({ maxLength: 5 }));
    const tag = fc.array(part, { maxLength: 8 }).map((parts) => `{% ${parts.join(' ')} %}`);
    const output = fc.array(part, { maxLength: 8 }).map((parts) => `{{ ${parts.join(' ')} }}`);
    const text = fc.array(fc.oneof(part, tag, output), { maxLength: 20 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (template) => {
        const problem = templateProblem(template);
        try {
          expect(typeof render(template)).toBe('string');
          expect(problem).toBeNull();
        } catch (error) {
          expect(error).toBeInstanceOf(TemplateError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    dense('{{a}}'),
    '('.repeat(9000),
    `{{${'('.repeat(9000)}}}`,
    `{{a${'[a'.repeat(4500)}${']'.repeat(4500)}}}`,
    dense('{%for a in a%}'),
  ])('holds for %.20s, whose problem is described briefly', (text) => {
    const problem = templateProblem(text);
    expect(problem === null || problem.length < 300).toBe(true);
  });
});
