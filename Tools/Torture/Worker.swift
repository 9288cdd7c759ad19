import FileCoordination
import Foundation
import UbiquityTesting

/// A task or thread that makes random accesses.
struct Worker {
    private let scene: Scene
    private var random: SeededRandom

    init(_ scene: Scene, seed: UInt64, index: Int) {
        self.scene = scene
        random = SeededRandom(seed: seed &+ UInt64(index) &* 0xD134_2543_DE82_EF95)
    }

    private mutating func anyFolder() -> String { Scene.folders.randomElement(using: &random)! }
    private mutating func anyFile() -> URL { scene.file(anyFolder(), Scene.files.randomElement(using: &random)!) }

    // MARK: Tasks

    func run(until end: ContinuousClock.Instant) async {
        var worker = self
        while ContinuousClock.now < end { await worker.step() }
    }

    private mutating func step() async {
        let coordinator = scene.coordinator()
        let scene = scene
        let deadline: FileCoordinator.Deadline? = random.chance(5) ? .after(.microseconds(Int.random(in: 0..<2000, using: &random))) : nil
        let dawdles = random.chance(20)
        do {
            switch Int.random(in: 0..<100, using: &random) {
            case ..<35:
                try await coordinator.read(anyFile(), options: random.chance(50) ? [] : .withoutChanges, deadline: deadline) { url in
                    let number = scene.number(url)
                    if dawdles { await Task.yield() }
                    if scene.number(url) != number { scene.checker.complain("\(url.path) changed under a reader") }
                }
            case ..<60:
                try await coordinator.write(anyFile(), options: random.chance(30) ? .forMerging : [], deadline: deadline) { url in
                    if dawdles { await Task.yield() }
                    scene.increment(url)
                }
            case ..<68:
                let files: [FileAccessIntent] = [.writingIntent(with: anyFile()), .writingIntent(with: anyFile())]
                try await coordinator.coordinate(with: files, deadline: deadline) {
                    for file in files { scene.increment(file.url) }
                }
            case ..<75: try await move(anyFile(), anyFile(), coordinator)
            case ..<78: try await move(scene.folder(anyFolder()), scene.folder(anyFolder()), coordinator)
            case ..<83:
                let url = random.chance(80) ? anyFile() : scene.folder(anyFolder())
                try await coordinator.write(url, options: .forDeleting, deadline: deadline) { scene.remove($0) }
            case ..<87: try await nest(coordinator)
            case ..<90:
                let folder = anyFolder()
                try await coordinator.prepare(reading: [scene.folder(folder)], deadline: deadline) {
                    for name in Scene.files {
                        try await coordinator.read(scene.file(folder, name), options: .withoutChanges) { _ = scene.number($0) }
                    }
                }
            case ..<94:
                let url = anyFile()
                let task = Task { try await coordinator.write(url) { scene.increment($0) } }
                await Task.yield()
                if random.chance(50) { task.cancel() } else { coordinator.cancel() }
                try await task.value
            default: scene.changePresenters(&random)
            }
        } catch is CancellationError {
        } catch is ToyPresenter.Refusal {
        } catch let error as FileCoordinationError where [.deadlineExceeded, .deadlock, .presenterRefused].contains(error.code) {
        } catch CocoaError.userCancelled {
        } catch {
            scene.checker.complain("an access failed: \(error)")
        }
    }

    /// Moves a file or folder over another.
    private func move(_ old: URL, _ new: URL, _ coordinator: FileCoordinator) async throws {
        guard old != new else { return }
        try await coordinator.write(old, options: .forMoving, writing: new, writingOptions: .forReplacing) { old, new in
            // The places may be equal by now, or one inside the other.
            guard !old.path.hasPrefix(new.path), !new.path.hasPrefix(old.path), FileManager.default.fileExists(atPath: old.path) else { return }
            scene.remove(new)
            do {
                try FileManager.default.createDirectory(at: new.deletingLastPathComponent(), withIntermediateDirectories: true)
                try FileManager.default.moveItem(at: old, to: new)
            } catch {
                scene.checker.complain("\(old.path) cannot be moved to \(new.path): \(error)")
            }
            coordinator.item(at: old, didMoveTo: new)
        }
    }

    /// Makes accesses within an access, with the coordinator or, to allow cycles, with another one.
    private mutating func nest(_ coordinator: FileCoordinator) async throws {
        let scene = scene
        let (outer, inner) = (anyFile(), anyFile())
        let nested = random.chance(50) ? coordinator : scene.coordinator()
        try await coordinator.write(outer) { url in
            scene.increment(url)
            try await nested.write(inner) { scene.increment($0) }
        }
    }

    // MARK: Threads

    /// Makes random accesses in the blocking forms, on a separate thread.
    func runOnThread(until end: ContinuousClock.Instant) async {
        await withCheckedContinuation { continuation in
            Thread {
                var worker = self
                while ContinuousClock.now < end { worker.stepBlocking() }
                continuation.resume()
            }.start()
        }
    }

    private mutating func stepBlocking() {
        let coordinator = scene.coordinator()
        do {
            if random.chance(50) {
                try coordinator.coordinate(readingItemAt: anyFile()) { _ = scene.number($0) }
            } else if random.chance(80) {
                try coordinator.coordinate(writingItemAt: anyFile()) { scene.increment($0) { sched_yield() } }
            } else {
                try coordinator.coordinate(writingItemAt: anyFile(), writingItemAt: anyFile()) { first, second in
                    scene.increment(first)
                    if second != first { scene.increment(second) }
                }
            }
        } catch is ToyPresenter.Refusal {
        } catch let error as FileCoordinationError where [.deadlock, .presenterRefused].contains(error.code) {
        } catch {
            scene.checker.complain("an access failed: \(error)")
        }
    }
}
