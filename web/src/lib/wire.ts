// What the server sends, by name. The types come from its own description of itself.

import type { components } from '../api'

type Schemas = components['schemas']

export type AgentFinding = Schemas['AgentFinding']
export type Attempt = Schemas['Attempt']
export type AutoView = Schemas['AutoView']
export type BoardPage = Schemas['BoardPage']
export type ChangedFile = Schemas['ChangedFile']
export type Diff = Schemas['Diff']
export type Health = Schemas['Health']
export type HoldView = Schemas['HoldView']
export type Inbox = Schemas['Inbox']
export type InboxCount = Schemas['InboxCount']
export type LiveText = Schemas['LiveText']
export type LogLine = Schemas['LogEvent']
export type RecordList = Schemas['RecordList']
export type RoomEvent = Schemas['RoomEvent']
export type RunDetail = Schemas['RunDetail']
export type RunList = Schemas['RunList']
export type RunView = Schemas['RunView']
export type SettingList = Schemas['SettingList']
export type Stopped = Schemas['Stopped']
export type Tally = Schemas['Tally']
export type TaskView = Schemas['TaskView']
export type Waiting = Schemas['Waiting']
