import { request } from '#console/api/client.ts';
import { currentSession, setSession } from '#console/api/session.ts';
import { toastError } from '#console/components/toast.tsx';
import { forgetUnsent } from './unsent.ts';

/** Forgets the credential of the tab, and ends the session of the browser, here and at the identity provider. */
export async function signOut(): Promise<void> {
  if (currentSession()?.token !== null) {
    forgetUnsent();
    setSession(null);
    return;
  }
  try {
    const { signOutUrl } = await request('DELETE /api/sessions/current', {});
    forgetUnsent();
    setSession(null);
    if (signOutUrl !== null) location.assign(signOutUrl);
  } catch (error) {
    // The session continues, and the user must know that.
    toastError(error);
  }
}
