package import Foundation

extension FileCoordinator {
    /// Makes sure that accesses are decided at all, for those who change something in steps of which the first is none.
    ///
    /// - Parameters:
    ///   - directory: a directory, which need not be a file package.
    ///   - deadline: how long it is waited for; who is in the way of an access there may be so again, which is no reason to refuse.
    /// - Throws: `brokerUnavailable`; `CancellationError`.
    package static func requireAvailability(in directory: URL, deadline: Deadline) async throws {
        // Nobody has an item of this name, so nobody is asked anything.
        let nothing = directory.appending(path: ".\(UUID().uuidString)", directoryHint: .notDirectory)
        do {
            try await FileCoordinator().read(nothing, options: [.withoutChanges, .immediatelyAvailableMetadataOnly], deadline: deadline) { _ in }
        } catch let error as FileCoordinationError where error.code != .brokerUnavailable {
        }
    }

    /// Whether there can be a presenter: one of this process, or of another that has found a broker.
    package static var canBePresented: Bool { !filePresenters.isEmpty || BrokerPlace.standard().hasBroker }
}
