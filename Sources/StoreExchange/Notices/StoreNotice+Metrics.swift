internal import StoreRecords
internal import TreeWatching
internal import UbiquityContainers

extension ExchangeMetrics {
    /// Records what a notice to observers of the store says.
    func record(_ notice: StoreNotice) {
        switch notice {
        case .didFindConflicts(let count): recorder.count(.conflicts, by: count)
        case .didQuarantine(let log): recorder.count(.quarantines, [.reason: log.kind.rawValue])
        case .didSuspend(let reason):
            recorder.count(.suspensions, [.reason: reason.word])
            recorder.set(.suspendedStores, to: 1)
        case .didResume: recorder.set(.suspendedStores, to: 0)
        case .didRollBaseline: recorder.count(.baselines, [.action: "written"])
        // The changes of an import are counted without the notice, which first sorts them. The log tells of the others.
        case .didImport, .didFill, .didTakeNewIdentifier, .didAdopt, .didRemoveContent, .willChange, .didChange, .didSetAside, .didChangeRights,
            .didRejectSaves, .didBreakChecks, .didChangeInAnotherProcess:
            break
        }
    }
}
