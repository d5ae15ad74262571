// The types of the API, by name. They are generated from the server's OpenAPI document.

import type { components } from '../api'

type Schemas = components['schemas']

/** The server leaves out fields that have their default. */
type Sparse<T, Present extends keyof T> = Partial<T> & Pick<T, Present>

export type Ask = Sparse<Schemas['Ask'], 'id'>
export type Asking = Schemas['Asking']
export type Decision = Sparse<Schemas['Decision'], 'turn' | 'action' | 'reason'>
export type DecisionReceipt = Schemas['DecisionReceipt']
export type Limits = Partial<Schemas['Limits']>
export type MomentView = Schemas['MomentView']
export type Receipt = Sparse<Schemas['Receipt'], 'seq' | 'at' | 'move' | 'tally'>
export type ReceiptList = Schemas['ReceiptList']
export type Replayed = Schemas['Replayed']
export type TurnSummary = Sparse<Schemas['TurnSummary'], 'turn' | 'status'>
export type AgentFinding = Schemas['AgentFinding']
export type AgentList = Schemas['AgentList']
export type Attempt = Schemas['Attempt']
export type AutoView = Schemas['AutoView']
export type BoardPage = Schemas['BoardPage']
export type BoardState = Schemas['BoardState']
export type ChangedFile = Schemas['ChangedFile']
export type Checkup = Schemas['Checkup']
export type Diff = Schemas['Diff']
export type DraftView = Schemas['DraftView']
export type FinishedTask = Schemas['FinishedTask']
export type FlakyTestList = Schemas['FlakyTests']
export type Forecast = Schemas['Forecast'] & { course: Schemas['CoursePoint'][] }
export type ForecastQuality = Schemas['ForecastQuality']
export type Evidence = Omit<Schemas['Evidence'], 'asked_later'> & { asked_later: Review[] }
export type EvidenceFile = Schemas['EvidenceFile']
export type EvidenceFinding = Omit<Schemas['EvidenceFinding'], 'pairs'> & { pairs?: LinePair[] }
export type GateCatches = Required<Omit<Schemas['GateCatches'], 'caught'>> & {
  caught: Schemas['Caught'][]
}
export type Health = Schemas['Health']
export type HoldView = Schemas['HoldView']
export type Inbox = Schemas['Inbox']
export type InboxCount = Schemas['InboxCount']
export type LinePair = Schemas['LinePair']
export type LiveList = Schemas['LiveList']
export type LiveText = Schemas['LiveText']
export type LogLine = Schemas['LogEvent']
export type MergeQueueView = Schemas['MergeQueueView']
export type MachineList = Schemas['MachineList']
export type MachineProcess = Schemas['MachineProcess']
export type NoteList = Schemas['NoteList']
/** A plan as it was started. */
export type PlanText = Omit<Partial<Schemas['Plan']>, 'phases'> & { phases?: PlanPhase[] }
export type PlanPhase = { name: string; text?: string; steps?: PlanStep[] }
export type PlanStep = Sparse<Schemas['Step'], 'id' | 'text'>
export type PlanCheck = Omit<Schemas['PlanCheck'], 'plan'> & { plan: PlanText }
export type NoForecast = Required<Schemas['NoForecast']>
export type PlanList = Schemas['PlanList']
export type PlanView = Schemas['PlanView']
export type Range = Schemas['Range']
export type QueuedReview = Schemas['QueuedReview']
export type RecordList = Schemas['RecordList']
export type Remark = Sparse<Schemas['Remark'], 'id' | 'file' | 'line' | 'text'>
export type Review = { at: string; text?: string; remarks?: Remark[] }
export type ReportedTests = Schemas['ReportedTests']
export type ReviewList = Omit<Schemas['ReviewList'], 'reviews'> & { reviews: Review[] }
export type ReviewQueue = Schemas['ReviewQueue']
export type RoomEvent = Schemas['RoomEvent']
export type RoomEvents = Schemas['RoomEvents']
export type RoomList = Schemas['RoomList']
export type RoomSummary = Schemas['RoomSummary']
export type RunDetail = Schemas['RunDetail']
export type RunList = Schemas['RunList']
export type RunView = Schemas['RunView']
export type SessionView = Schemas['SessionView']
export type SettingList = Schemas['SettingList']
export type SprintList = Schemas['SprintList']
export type SprintView = Schemas['SprintView']
export type Statistics = Required<Schemas['Statistics']>
export type StatisticsGroup = { name: string; statistics: Statistics }
export type StatisticsReport = Required<
  Omit<Schemas['StatisticsReport'], 'groups' | 'days' | 'gate'>
> & {
  gate: GateCatches
  groups: StatisticsGroup[]
  days: StatisticsGroup[]
}
export type Stopped = Schemas['Stopped']
export type Summary = Schemas['Summary']
export type TalkMode = Schemas['TalkMode']
export type Tally = Partial<Schemas['Tally']>
export type TaskView = Schemas['TaskView']
export type AccountList = Schemas['AccountList']
export type AccountView = Schemas['AccountView']
export type WindowView = Schemas['WindowView']
export type TimeUse = Required<Schemas['TimeUse']>
export type Today = Schemas['Today']
export type CallLine = Schemas['CallLine']
export type CallReport = Schemas['CallReport']
export type UsageLine = Schemas['UsageLine']
export type UsageReport = Schemas['UsageReport']
export type Waiting = Schemas['Waiting']
