internal import Foundation
internal import Synchronization
internal import SystemPackage
internal import UbiquityContainers

/// What a transport has learnt that Syncthing tells only once: the progress of transfers, and since when it has failed.
///
/// All copies of one ``SyncthingTransport`` share it.
final class TransferMemory: Sendable {
    private struct Transfer {
        var progress: TransferProgress
        var time: ContinuousClock.Instant
    }

    private struct State {
        var failedSince: Date?
        var folder: SharedFolder?
        /// This device's downloads.
        var downloads: [FilePath: Transfer] = [:]
        /// The other devices' downloads, by device.
        var uploads: [String: [FilePath: Transfer]] = [:]
    }

    private let state = Mutex(State())

    /// Notes whether Syncthing fails now.
    ///
    /// - Parameter isFailed: whether it does.
    /// - Returns: since when it has, as far as this memory knows; nil if it does not.
    func note(isFailed: Bool) -> Date? {
        state.withLock { state in
            state.failedSince = isFailed ? state.failedSince ?? Date() : nil
            return state.failedSince
        }
    }

    /// Returns the folder that was found last, or asks for it.
    func folder(orAsking ask: () async throws -> SharedFolder) async throws -> SharedFolder? {
        if let folder = state.withLock({ $0.folder }) { return folder }
        let folder = try await ask()
        state.withLock { $0.folder = folder }
        return folder
    }

    func forgetFolder() { state.withLock { $0.folder = nil } }

    /// Takes in all downloads of this device.
    func downloads(_ progress: [FilePath: TransferProgress], at time: ContinuousClock.Instant = .now) {
        state.withLock { $0.downloads = Self.replace($0.downloads, progress, time) }
    }

    /// Takes in all downloads of another device.
    func uploads(to device: String, _ progress: [FilePath: TransferProgress], at time: ContinuousClock.Instant = .now) {
        state.withLock { $0.uploads[device] = Self.replace($0.uploads[device] ?? [:], progress, time) }
    }

    private static func replace(
        _ old: [FilePath: Transfer], _ new: [FilePath: TransferProgress], _ time: ContinuousClock.Instant
    ) -> [FilePath: Transfer] {
        new.reduce(into: [:]) { transfers, entry in
            var progress = entry.value
            if let before = old[entry.key], before.progress.total == progress.total {
                let seconds = (time - before.time) / .seconds(1)
                let bytes = progress.done - before.progress.done
                progress.rate = seconds > 0 && bytes >= 0 ? Double(bytes) / seconds : before.progress.rate
            }
            transfers[entry.key] = Transfer(progress: progress, time: time)
        }
    }

    /// Returns a state with its progress, if the item is being transferred.
    func completed(_ state: ItemState, of item: FilePath) -> ItemState {
        var completed = state
        self.state.withLock { memory in
            switch state.status {
            case .downloading:
                guard var progress = memory.downloads[item]?.progress else { break }
                // Syncthing counts whole blocks.
                if let size = state.size { (progress.done, progress.total) = (min(progress.done, size), size) }
                completed.progress = progress
            case .uploading:
                let most = memory.uploads.values.compactMap { $0[item]?.progress }.max { $0.done < $1.done }
                completed.progress = most.flatMap { blocks in state.size.map { TransferProgress(blocks, ofSize: $0) } }
            default: break
            }
        }
        return completed
    }
}

extension TransferProgress {
    /// The progress in Syncthing's blocks, before the size of the file is known.
    init(blocks: Int64) { self.init(done: blocks, total: 0) }

    /// The progress in bytes, from one in blocks.
    init(_ blocks: TransferProgress, ofSize size: Int64) {
        let block = Double(Self.blockSize(of: size))
        // The multiplication cannot overflow: the other device may name any number.
        let done = min(Double(size), Double(max(0, blocks.done)) * block)
        self.init(done: Int64(done), total: size, rate: blocks.rate.map { $0 * block })
    }

    /// The number of bytes in Syncthing's blocks of a file (https://docs.syncthing.net/specs/bep-v1.html): the smallest
    /// power of two from 128 KiB to 16 MiB with which the file has fewer than 2,000 blocks.
    static func blockSize(of size: Int64) -> Int64 {
        var block: Int64 = 128 << 10
        while block < 16 << 20, size >= 2000 * block { block *= 2 }
        return block
    }
}
