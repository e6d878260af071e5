import type { Context } from 'koa';
import { z } from 'zod';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { SIGN_IN_MINUTES } from '#domain/accounts/user-session.ts';
import type { Services } from '../services.ts';
import { addCookie, cookieHeader, cookieOf, noCookie } from './cookies.ts';

/** Binds the encrypted cookie to its purpose. */
const INVITEE = 'invitee';

const Invitee = z.object({ userId: z.string().min(1), until: z.number() });

/**
 * Remembers who has signed in to answer an invitation, because they may not belong to a workspace yet. With `Lax`, the page
 * to which the provider redirects gets the cookie, but a form of another site does not send it.
 */
export function keepInvitee(context: Context, { secrets, config }: Services, userId: string): void {
  const minutes = SIGN_IN_MINUTES;
  const sealed = secrets.seal(JSON.stringify({ userId, until: Date.now() + minutes * 60_000 }), INVITEE);
  addCookie(context, cookieHeader('invitee', sealed, config.publicUrl, { minutes, sameSite: 'Lax' }));
}

/** The user who has signed in within the last minutes; null if there is none. */
export function inviteeOf(context: Context, { secrets, config }: Services): string | null {
  const sealed = cookieOf(context.get('cookie'), 'invitee', config.publicUrl);
  if (sealed === '') return null;
  try {
    const { userId, until } = Invitee.parse(parseOwnJson(secrets.open(sealed, INVITEE)));
    return Date.now() < until ? userId : null;
  } catch {
    return null;
  }
}

export const forgetInvitee = (context: Context, { config }: Services): void =>
  addCookie(context, noCookie('invitee', config.publicUrl));
