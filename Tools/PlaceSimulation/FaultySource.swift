import Foundation
import StoreExchange
import StoreFormat
import Synchronization
import SystemPackage
import UbiquityTesting

/// A public place whose server loses answers, truncates files, and sometimes sends a head from before.
final class FaultySource: PlaceSource {
    private struct State {
        var random: SeededRandom
        /// How many of a hundred answers are wrong.
        var faults = 0
        var former: [PlaceAnswer] = []
        var requests = 0
    }

    private let source: DirectorySource
    private let state: Mutex<State>

    init(_ place: FilePath, seed: UInt64) {
        source = DirectorySource(place)
        state = Mutex(State(random: SeededRandom(seed: seed)))
    }

    /// Makes so many of a hundred answers wrong.
    func set(faults: Int) { state.withLock { $0.faults = faults } }

    var requests: Int { state.withLock { $0.requests } }

    private enum Fault { case lost, truncated, former(PlaceAnswer) }

    private func fault(isHead: Bool) -> Fault? {
        state.withLock { state in
            state.requests += 1
            guard Int.random(in: 0..<100, using: &state.random) < state.faults else { return nil }
            switch Int.random(in: 0..<3, using: &state.random) {
            case 0: return .lost
            case 1 where isHead: return state.former.randomElement(using: &state.random).map(Fault.former)
            default: return .truncated
            }
        }
    }

    func head(unless tag: String?) async throws -> PlaceAnswer? {
        switch fault(isHead: true) {
        case .lost: throw PlaceSourceError("the answer is lost")
        case .former(let answer): return answer
        case .truncated: return try await source.head(unless: nil).map { PlaceAnswer(bytes: $0.bytes.dropLast(7), tag: nil) }
        case nil:
            let answer = try await source.head(unless: tag)
            if let answer { state.withLock { $0.former.append(answer) } }
            return answer
        }
    }

    func head(_ number: Int64, _ id: StatementIdentifier) async throws -> [UInt8] { try await source.head(number, id) }

    func fetch(_ path: PublishedPath, _ file: PublishedFile, to draft: FilePath) async throws {
        switch fault(isHead: false) {
        case nil, .former: try await source.fetch(path, file, to: draft)
        case .lost: throw PlaceSourceError("the answer is lost")
        case .truncated:
            try await source.fetch(path, file, to: draft)
            try FileHandle(forWritingTo: URL(filePath: draft.string)).truncate(atOffset: UInt64(file.size / 2))
        }
    }
}
