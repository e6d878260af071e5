import { sql } from 'slonik';
import { expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { arrive } from '#test/support/inbound.ts';
import { signIn } from '#test/support/sessions.ts';
import { cutTexts, inaccessible, openTab, sharedBrowser, TAB } from './browser.ts';
import { openConsole, signInTo } from './console-tab.ts';

const tab = openConsole();

test('whoever chooses a language reads texts, dates and numbers in it, on later visits as well', async () => {
  const { page, app } = tab;
  const { api, key, lineId } = await createWorkspaceWithLine(app, {
    workspace: { timezone: 'Asia/Tokyo' },
    line: { first_name: 'Dana', daily_total_limit: 10_000 },
  });
  // A text that is translated twice.
  const uncompiled: string[] = [];
  page.on('console', (message) => {
    if (message.text().includes('Uncompiled')) uncompiled.push(message.text());
  });
  await tab.signIn(key);
  await page.getByText('of 10,000').waitFor();
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.getByRole('button', { name: /Account/ }).click();
  const [menu, last] = await Promise.all([
    page.getByRole('menu').boundingBox(),
    page.getByRole('menuitem', { name: 'Sign out' }).boundingBox(),
  ]);
  expect((last?.y ?? Infinity) + (last?.height ?? 0)).toBeLessThanOrEqual(
    (menu?.y ?? 0) + (menu?.height ?? 0),
  );
  await page.setViewportSize(TAB.viewport);
  await page.getByRole('menuitem', { name: 'Español' }).click();
  await page.getByRole('heading', { name: 'Inicio' }).waitFor();
  expect(await page.evaluate('document.documentElement.lang')).toBe('es');
  const today = { timeZone: 'Asia/Tokyo', weekday: 'long', day: 'numeric', month: 'long' } as const;
  await page.getByText(new Intl.DateTimeFormat('es', today).format(new Date())).waitFor();
  await page.getByText('de 10.000').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('link', { name: 'Contactos' }).click();
  await page.getByRole('heading', { name: 'Contactos' }).waitFor();
  await page.getByText('Aún no hay contactos').waitFor();
  await page.reload();
  await page.getByText('Aún no hay contactos').waitFor();
  await api('POST', `/api/lines/${lineId}/pause`, {});
  const { body: message } = await api('POST', '/api/messages', { recipientPhone: phone(), message: 'Hola' });
  await tab.go(`/messages?message=${message._id}`);
  const drawer = page.getByRole('dialog');
  await drawer.getByText('Línea en pausa').first().waitFor();
  expect(await drawer.getByText(/is paused/).count()).toBe(0);
  await drawer.getByText('Aceptado desde la API').waitFor();
  await drawer.getByText('Retenido: Línea en pausa').waitFor();
  await api('POST', `/api/lines/${lineId}/resume`, {});
  await drawer.getByText('El operador aceptó el mensaje').waitFor();
  await drawer.getByText('Entregado, según informa el operador').waitFor();
  expect(await drawer.getByText(/Accepted|Held|Handed|carrier|simulated/).count()).toBe(0);
  const { body: lost } = await api('POST', '/api/messages', {
    recipientPhone: phone('0002'),
    message: 'Hola',
  });
  await eventually(async () => (await api('GET', `/api/messages/${lost._id}`)).body.status === 'failed');
  // As Twilio says it.
  await app.pools.system.query(
    sql.unsafe`update messages set error_message = '30003: Unreachable destination handset' where id = ${lost._id}`,
  );
  await tab.go(`/messages?message=${lost._id}`);
  await page.getByText('El teléfono está apagado o sin cobertura (30003)').first().waitFor();
  await tab.go(`/messages?message=${newId()}`);
  await page.getByRole('alert').getByText('Esto ya no existe.').waitFor();
  expect(tab.takeProblems().every((problem) => problem.includes('404'))).toBe(true);
  await tab.go('/campaigns');
  await page.getByRole('link', { name: 'Nueva campaña' }).first().click();
  await page.getByLabel('Nombre', { exact: true }).fill('Visitas');
  await page.getByLabel('Lista', { exact: true }).selectOption({ label: 'Quick Sends' });
  await page.getByRole('textbox', { name: 'Mensaje', exact: true }).fill('Hola {{ firstname }}');
  await page.getByRole('button', { name: 'Crear borrador' }).click();
  await page.getByText(/¿Quieres decir firstName\?/).waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await api('POST', '/api/opt-outs', { address: phone() });
  await tab.go('/compliance?tab=opt-outs');
  await page.getByRole('table', { name: 'Bajas y altas' }).getByRole('row').nth(1).waitFor();
  const when = [{ field: 'customFields.plan', op: 'eq', value: 'oro' }];
  const steps = [
    { kind: 'branch', branches: [{ name: 'Oro', when, steps: [{ message: 'Oro' }] }], else: [] },
  ];
  const { campaign } = (await api('POST', '/api/campaigns', { name: 'Planes', steps, start: true })).body;
  for (const plan of ['oro', 'plata']) {
    const lead = { phone: phone(), customFields: { plan } };
    const { leadId } = (await api('POST', `/api/campaigns/${campaign._id}/leads`, { lead })).body;
    await tab.go(`/contacts?lead=${leadId}&part=history`);
    const reason = plan === 'oro' ? 'Se cumple: plan es “oro”' : 'Oro: No se cumple: plan es “oro”';
    await page.getByText(reason, { exact: true }).waitFor();
  }
  // What is to be done at each carrier: nothing of what the API says in English.
  await tab.go('/lines');
  await page.getByRole('button', { name: 'Solicitar una línea' }).first().click();
  const { carriers } = (await api('GET', '/api/lines/carriers')).body;
  for (const [index, { guide, provisionsLines }] of carriers.entries()) {
    await page.getByRole('radio').nth(index).check();
    await expect
      .poll(() => drawer.getByRole('listitem').count())
      .toBe(provisionsLines ? 0 : guide.before.length);
    const text = await drawer.innerText();
    expect(text).toContain('Twilio');
    expect([guide.summary, ...guide.before].filter((said) => text.includes(said))).toEqual([]);
  }
  await tab.go('/contacts');
  await page.getByRole('button', { name: /Cuenta/ }).click();
  await page.getByRole('menuitem', { name: 'English' }).click();
  await page.getByRole('heading', { name: 'Contacts' }).waitFor();
  expect(await page.evaluate('document.documentElement.lang')).toBe('en');
  expect(uncompiled).toEqual([]);
});

test('a browser in Spanish starts in Spanish, from the sign-in on', async () => {
  const { app } = tab;
  const browser = await sharedBrowser();
  const context = await browser.newContext({ ...TAB, locale: 'es-MX' });
  const { page, takeProblems } = await openTab(browser, context);
  await page.goto(`${app.url}/console`);
  await page.getByRole('heading', { name: 'Inicia sesión en Linepace' }).waitFor();
  expect(await page.evaluate('document.documentElement.lang')).toBe('es');
  await page.getByLabel('Clave del espacio de trabajo').fill('svc_sk_wrong');
  await page.getByRole('button', { name: 'Iniciar sesión' }).click();
  await page.getByText('Esta clave no es válida').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  expect(takeProblems()).toEqual([expect.stringContaining('401')]);
  const { key } = await createWorkspaceWithLine(app, { line: { daily_total_limit: 10_000 } });
  await signInTo(page, app, key);
  // With the digits of the region that the browser names.
  await page.getByText('de 10,000').waitFor();
  // Words are longer than in English.
  for (const [path, heading] of [
    ['/', 'Inicio'],
    ['/lines', 'Líneas'],
    ['/settings', 'Ajustes'],
    ['/analytics', 'Analítica'],
    ['/compliance', 'Cumplimiento'],
    ['/messages', 'Mensajes'],
  ] as const) {
    await page.evaluate(`history.pushState(null, '', '/console${path}')`);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await page.getByRole('main').getByText('Cargando').first().waitFor({ state: 'detached' });
    for (const width of [1100, 1180, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await cutTexts(page), `${path} at ${width} pixels`).toEqual([]);
    }
  }
  expect(takeProblems()).toEqual([]);
  await context.close();
});

test('the audit log names who acts by itself in Spanish, and fits a phone', async () => {
  const { app } = tab;
  const { id, ownerId, lineId } = await createWorkspaceWithLine(app);
  const context = await (
    await sharedBrowser()
  ).newContext({
    ...TAB,
    locale: 'es-ES',
    viewport: { width: 390, height: 844 },
  });
  const { page, takeProblems } = await openTab(await sharedBrowser(), context);
  await arrive(app, { lineId, from: phone(), text: 'STOP' });
  const owner = await signIn(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
  await signInTo(page, app, owner, '/settings?tab=audit');
  await page.getByRole('row').getByRole('paragraph').filter({ hasText: 'El contacto' }).waitFor();
  // As a text: it runs in the page.
  const cut = await page.evaluate(
    `[...document.querySelectorAll('[role=row] p')].filter((text) => text.scrollWidth > text.clientWidth).length`,
  );
  expect(cut).toBe(0);
  expect(await inaccessible(page)).toEqual([]);
  expect(takeProblems()).toEqual([]);
  await context.close();
});
