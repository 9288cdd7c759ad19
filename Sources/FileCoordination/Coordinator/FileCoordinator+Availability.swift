package import Foundation

extension FileCoordinator {
    /// Checks that accesses can be granted at all, before a change in several steps whose first step needs no access.
    ///
    /// - Parameters:
    ///   - directory: a directory, which need not be a file package.
    ///   - deadline: the limit of the wait. A conflicting access is no reason to refuse, because later accesses may
    ///     conflict too.
    /// - Throws: `brokerUnavailable`; `CancellationError`.
    package static func requireAvailability(in directory: URL, deadline: Deadline) async throws {
        // No presenter has an item of this name, so no presenter is asked.
        let nothing = directory.appending(path: ".\(UUID().uuidString)", directoryHint: .notDirectory)
        do {
            try await FileCoordinator().read(nothing, options: [.withoutChanges, .immediatelyAvailableMetadataOnly], deadline: deadline) { _ in }
        } catch let error as FileCoordinationError where error.code != .brokerUnavailable {
        }
    }

    /// Whether a presenter can exist: in this process, or in another process that has found a broker.
    package static var canBePresented: Bool { !filePresenters.isEmpty || BrokerPlace.standard().hasBroker }
}
