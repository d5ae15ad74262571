// The word, mark and tone for each status.

export type Tone = 'quiet' | 'work' | 'good' | 'attention' | 'bad'

interface StatusStyle {
  word: string
  mark: string
  tone: Tone
}

const STYLES: Record<string, StatusStyle> = {
  pending: { word: 'pending', mark: '○', tone: 'quiet' },
  active: { word: 'running', mark: '●', tone: 'work' },
  running: { word: 'running', mark: '●', tone: 'work' },
  queued: { word: 'queued', mark: '◌', tone: 'quiet' },
  merging: { word: 'merging', mark: '⇢', tone: 'work' },
  idle: { word: 'idle', mark: '○', tone: 'quiet' },
  waiting: { word: 'waiting', mark: '?', tone: 'attention' },
  review: { word: 'review', mark: '◆', tone: 'attention' },
  leave: { word: 'asks', mark: '?', tone: 'attention' },
  question: { word: 'asks', mark: '?', tone: 'attention' },
  limit: { word: 'limit', mark: '!', tone: 'attention' },
  merge: { word: 'merge', mark: '⇢', tone: 'attention' },
  blocked: { word: 'blocked', mark: '!', tone: 'attention' },
  interrupted: { word: 'interrupted', mark: '!', tone: 'attention' },
  timeout: { word: 'timeout', mark: '✗', tone: 'bad' },
  failed: { word: 'failed', mark: '✗', tone: 'bad' },
  done: { word: 'done', mark: '✓', tone: 'good' },
  completing: { word: 'completing', mark: '●', tone: 'work' },
  ended: { word: 'ended', mark: '✓', tone: 'quiet' },
  pausing: { word: 'pausing', mark: '‖', tone: 'attention' },
  paused: { word: 'paused', mark: '‖', tone: 'attention' },
  frozen: { word: 'frozen', mark: '‖', tone: 'attention' },
  stopped: { word: 'stopped', mark: '■', tone: 'bad' },
}

export function statusStyle(status: string): StatusStyle {
  return STYLES[status] ?? { word: status.replaceAll('_', ' '), mark: '·', tone: 'quiet' }
}
