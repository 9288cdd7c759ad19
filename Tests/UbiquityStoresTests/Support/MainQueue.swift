import Dispatch
import Foundation

/// The main queue, on which the main actor runs; on Linux no thread of a test process need be the main thread.
enum MainQueue {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller holds up what an app does on its main thread.
    static var isHere: Bool { DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread }
}

/// Runs a body on the main actor, as an app with windows calls a library.
@MainActor
func onMainActor<Result: Sendable>(_ body: @MainActor @Sendable () async throws -> Result) async rethrows -> Result { try await body() }
