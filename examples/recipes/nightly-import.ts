/**
 * Imports an export of contacts, and says which rows were rejected. For cron:
 *
 *   15 2 * * *  node nightly-import.ts /exports/contacts.csv "CRM contacts"
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Linepace } from 'linepace';

const [file = '', listName = 'CRM contacts'] = process.argv.slice(2);
const linepace = new Linepace();

const { lists } = await linepace.contacts.listLists();
const list =
  lists.find(({ name }) => name === listName) ??
  (await linepace.contacts.createList({ name: listName })).list;
// Contacts that are in the list already are counted as duplicates and stay as they are.
const { importId } = await linepace.contacts.importLeads({
  id: list._id,
  body: await readFile(file, 'utf8'),
});

let state = await linepace.contacts.getImport({ id: list._id, importId });
while (state.status === 'running') {
  await pause(1000);
  state = await linepace.contacts.getImport({ id: list._id, importId });
}
console.log(`${state.saved} new, ${state.duplicates} known, ${state.rejected} rejected`);
if (state.rejected > 0) console.log(await linepace.contacts.getRejectedRows({ id: list._id, importId }));
if (state.status === 'failed') process.exitCode = 1;
