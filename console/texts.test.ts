import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { type ESTree, parseSync, Visitor } from 'vite';
import { expect, test } from 'vitest';
import { CONSOLE, filesIn } from './sources.ts';

/** Attributes and properties that people read. */
const SHOWN = new Set([
  'alt',
  'any',
  'aria-label',
  'aria-valuetext',
  'confirm',
  'description',
  'header',
  'heading',
  'hint',
  'label',
  'legend',
  'note',
  'placeholder',
  'submit',
  'summary',
  'text',
  'title',
]);
/** The same in every language: names, keys of the keyboard, examples of values. */
const NAMES =
  /^(\p{Ll}|Linepace|Twilio|\{\{ \S+ \}\}|iMessage|SMS|URL|API|ID|DNS|MCP|CSV|JSON|HTTP|Ctrl \p{L}+|https?:\/\/\S+|\S+@\S+|\S*_…|eyJ…|Bearer …|(… )?ms)$/u;
/** Whose texts are code, or translated by a macro. */
const EXEMPT = new Set(['Trans', 'Plural', 'Select', 'code', 'kbd']);
/** Strings that begin like a sentence are shown to people, wherever they are. */
const SENTENCE = /^\p{Lu}\p{Ll}+[,:]? \p{L}/u;

const isMacro = (name: string): boolean => ['t', 'msg', 'plural', 'select'].includes(name);

const isText = (text: string): boolean => /\p{L}/u.test(text) && !NAMES.test(text.trim());

/** The texts that an expression may result in. */
function textsIn(node: ESTree.Node | null | undefined): { start: number; text: string }[] {
  if (!node) return [];
  const { type, start } = node;
  if (type === 'Literal') {
    const { value } = node;
    return typeof value === 'string' && isText(value) ? [{ start, text: value }] : [];
  }
  if (type === 'TemplateLiteral') {
    const text = node.quasis.map(({ value }) => value.raw).join('…');
    return isText(text) ? [{ start, text }] : node.expressions.flatMap(textsIn);
  }
  if (type === 'ConditionalExpression') return [node.consequent, node.alternate].flatMap(textsIn);
  if (type === 'LogicalExpression' || type === 'BinaryExpression')
    return [...(node.operator === '&&' ? [] : textsIn(node.left)), ...textsIn(node.right)];
  return type === 'JSXExpressionContainer' ? textsIn(node.expression) : [];
}

/** Texts that no macro wraps, each as `line: text`. */
function untranslated(file: string, source: string): string[] {
  const { program } = parseSync(file, source);
  const found = new Map<number, string>();
  /** How many of the nodes that are open exempt what is in them. */
  let exempt = 0;
  const add = (node: ESTree.Node | null | undefined): void => {
    if (exempt > 0) return;
    for (const { start, text } of textsIn(node)) found.set(start, text);
  };
  const isExempt = ({ openingElement: { name } }: ESTree.JSXElement): boolean =>
    name.type === 'JSXIdentifier' && EXEMPT.has(name.name);
  new Visitor({
    CallExpression: ({ callee, arguments: [first] }) => {
      if (callee.type !== 'Identifier') return;
      if (callee.name === 'toast') add(first);
      exempt += isMacro(callee.name) ? 1 : 0;
    },
    'CallExpression:exit': ({ callee }) =>
      void (exempt -= callee.type === 'Identifier' && isMacro(callee.name) ? 1 : 0),
    TaggedTemplateExpression: () => void (exempt += 1),
    'TaggedTemplateExpression:exit': () => void (exempt -= 1),
    NewExpression: () => void (exempt += 1),
    'NewExpression:exit': () => void (exempt -= 1),
    JSXElement: (node) => void (exempt += isExempt(node) ? 1 : 0),
    'JSXElement:exit': (node) => void (exempt -= isExempt(node) ? 1 : 0),
    JSXText: ({ start, value }) => {
      if (exempt === 0 && isText(value)) found.set(start + value.search(/\S/), value.trim());
    },
    JSXExpressionContainer: (node) => {
      // Only in children: for attributes, `SHOWN` decides.
      if (!/[=]\s*$/.test(source.slice(0, node.start))) add(node);
    },
    JSXAttribute: ({ name, value }) => {
      if (name.type !== 'JSXIdentifier') return;
      const isShownName = name.name === 'name' && value?.type === 'Literal' && /^\p{Lu}/u.test(value.value);
      if (SHOWN.has(name.name) || isShownName) add(value);
    },
    Property: ({ key, value, computed }) => {
      const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? key.value : null;
      if (!computed && typeof name === 'string' && SHOWN.has(name)) add(value);
    },
    Literal: (node) => {
      if (typeof node.value === 'string' && SENTENCE.test(node.value)) add(node);
    },
    TemplateLiteral: (node) => {
      if (SENTENCE.test(node.quasis.map(({ value }) => value.raw).join('x'))) add(node);
    },
  }).visit(program);
  return [...found]
    .toSorted(([a], [b]) => a - b)
    .map(([start, text]) => `${source.slice(0, start).split('\n').length}: ${text.replaceAll(/\s+/g, ' ')}`);
}

const FOLDERS = /^(api|components|lib|pages|shell|router)\b/;
const files = (await filesIn(CONSOLE)).filter(
  (file) => FOLDERS.test(relative(CONSOLE, file)) && /(?<!\.test)\.tsx?$/.test(file),
);

test.each(files.map((file) => relative(CONSOLE, file)))('every text of %s is translated', async (file) => {
  const source = await readFile(`${CONSOLE}/${file}`, 'utf8');
  expect(untranslated(file, source)).toEqual([]);
});
