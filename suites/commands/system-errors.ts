/** Errors of the machine or of its settings, which are no defect of the suite. */

/** What to do about an error of the operating system; null where it may be a defect of the suite. */
export function systemAdvice(error: unknown): string | null {
  const { code, syscall } = (typeof error === 'object' && error !== null ? error : {}) as NodeJS.ErrnoException
  if (syscall === 'uv_cwd') return 'Change to another folder: the current one does not exist any more'
  if (syscall === 'mkdtemp') return 'Set TMPDIR to a folder that can be written'
  if (code === 'EMFILE' || code === 'ENFILE') return 'Raise the limit of open files, for example with "ulimit -n 1024"'
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'Free some space on the disk'
  if (code === 'EROFS') return 'Write to another disk: this one is read-only'
  return null
}
