import Foundation
import Logging
import SystemPackage

/// One coordinated access, from the request to the end of the claim; what the async, blocking and queue forms have in common.
struct AccessRun: Sendable {
    /// An item to access.
    struct Target: Sendable {
        let location: Location
        let access: Access
        /// What the item leads to, where it is a symbolic link that is to be resolved (C-17).
        let destination: Location?

        init(_ url: URL, _ access: Access) throws(FileCoordinationError) {
            location = try Location(url)
            self.access = access
            destination = Self.destination(of: location, access)
        }

        private static func destination(of link: Location, _ access: Access) -> Location? {
            guard case .read(let options) = access, options.contains(.resolvesSymbolicLink),
                case .success(let real) = link.path.realPath(), real != link.path, let url = URL(filePath: real)
            else { return nil }
            return try? Location(url)
        }

        var isForUploading: Bool {
            guard case .read(let options) = access else { return false }
            return options.contains(.forUploading)
        }

        /// Whether the link leads elsewhere by now.
        var isOutdated: Bool { Self.destination(of: location, access)?.path != destination?.path }
    }

    let coordinator: FileCoordinator
    let targets: [Target]
    let isPreparation: Bool
    /// What the request was made within.
    private let outer: CoordinationContext?
    let id: ClaimID
    /// Set when the claim could be had at once.
    let immediate: Grant?

    /// Requests a claim for some items.
    ///
    /// - Throws: `CocoaError.userCancelled` when the coordinator is.
    init(_ coordinator: FileCoordinator, _ targets: [Target], isPreparation: Bool = false, outer: CoordinationContext? = .current) throws {
        self.coordinator = coordinator
        self.targets = targets
        self.isPreparation = isPreparation
        self.outer = outer
        let purpose = try coordinator.purposeUnlessCancelled()
        let packages = coordinator.client.filePackages
        var items: [ClaimItem] = []
        for target in targets {
            let path = target.location.path
            items.append(ClaimItem(path, target.access, packageDepths: packages.depths(above: path)))
            guard let path = target.destination?.path else { continue }
            items.append(ClaimItem(path, target.access, packageDepths: packages.depths(above: path)))
        }
        let surroundings = outer?.surroundings ?? []
        (id, immediate) = try coordinator.client.begin(coordinator: coordinator.number) { id in
            ClaimRequest(
                id: id, coordinator: coordinator.number, purpose: purpose, presenter: coordinator.presenter, surroundings: surroundings,
                items: items, isPreparation: isPreparation)
        }
        // A cancellation between the look at the coordinator and the request found nothing to cancel.
        if immediate == nil, coordinator.isCancelled { coordinator.client.cancel(id, as: CocoaError.coordinatorCancelled) }
    }

    /// What the code in the accessor is within.
    ///
    /// Nothing of its own once the claim has ended, which for a snapshot it has.
    var context: CoordinationContext? { isForUploadingOnly ? outer : CoordinationContext(.claim(id), outer: outer) }

    /// Whether the claim is needed only for as long as it takes to copy the items (C-19).
    var isForUploadingOnly: Bool { !isPreparation && targets.allSatisfy(\.isForUploading) }

    /// Looks at the items of a granted claim.
    ///
    /// - Returns: what the accessor gets; nil when a link has come to lead elsewhere, so that the claim is of no use and was ended.
    /// - Throws: `unusableURL` when an item has moved to where no URL leads; the claim has ended then.
    func open(_ grant: Grant) throws -> Opened? {
        guard !targets.contains(where: { $0.destination != nil && $0.isOutdated }) else {
            end([])
            return nil
        }
        var urls: [URL] = []
        var places: [FilePath] = []
        var index = 0
        for target in targets {
            let location = target.destination ?? target.location
            index += target.destination == nil ? 0 : 1
            let path = grant.paths[index]
            index += 1
            guard let url = location.url(of: path) else {
                end([])
                throw FileCoordinationError(
                    .unusableURL, "\(target.location.path) was moved to \(path), which no URL can represent. Rename it to a UTF-8 name.", path: path)
            }
            urls.append(url)
            places.append(path)
        }
        coordinator.client.logger.trace("\(isPreparation ? "preparing" : "accessing") \(words(of: grant.paths)) for \(coordinator.purpose)")
        let existed = grant.isObserved ? grant.paths.map(\.existsWithoutFollowing) : []
        return Opened(urls: urls, places: places, paths: grant.paths, existed: existed, isPresented: grant.isPresented)
    }

    private func words(of paths: [FilePath]) -> String {
        let accesses = targets.flatMap { target in target.destination == nil ? [target.access] : [target.access, target.access] }
        return zip(accesses, paths).map { "\($1) (\($0.writes ? "write" : "read"))" }.joined(separator: ", ")
    }

    /// What an accessor works with.
    struct Opened: Sendable {
        let urls: [URL]
        /// Where the targets are.
        let places: [FilePath]
        /// Where the claim's items are: the targets and, after each link that is resolved, what it leads to.
        let paths: [FilePath]
        let existed: [Bool]
        let isPresented: Bool
    }

    /// Copies the items that are to be uploaded; blocks.
    ///
    /// - Throws: `fileSystem` when one cannot be copied; the claim goes on then.
    func snapshots(of opened: Opened) throws -> [UploadSnapshot?] {
        guard !isPreparation, targets.contains(where: \.isForUploading) else { return [] }
        var snapshots: [UploadSnapshot?] = []
        do {
            for (target, place) in zip(targets, opened.places) {
                snapshots.append(target.isForUploading ? try UploadSnapshot(of: place) : nil)
            }
        } catch {
            for snapshot in snapshots { snapshot?.remove() }
            throw error
        }
        return snapshots
    }

    /// The URLs for the accessor, with those of the snapshots in place.
    func urls(_ opened: Opened, _ snapshots: [UploadSnapshot?]) -> [URL] {
        snapshots.isEmpty ? opened.urls : zip(opened.urls, snapshots).map { $1?.url ?? $0 }
    }

    /// Ends the claim when the accessor is done.
    func close(_ opened: Opened) {
        let observations = zip(opened.paths, opened.existed).map { Observation(existedBefore: $1, existsAfter: $0.existsWithoutFollowing) }
        // Links that are resolved are only read, so where anything is written, places and targets go together.
        let written = opened.isPresented ? zip(targets, opened.places).filter(\.0.access.writes).map(\.1) : []
        end(observations, written)
        if !isPreparation { coordinator.client.writes.tell { zip(targets, opened.places).filter(\.0.access.writes).map(\.1) } }
    }

    private func end(_ observations: [Observation], _ paths: [FilePath] = []) {
        // First, for who is let in by the end asks the presenter where it is by now.
        if let presenter = coordinator.presenter { coordinator.client.readAgainURL(of: presenter) }
        coordinator.client.end(id, observations, written: isPreparation ? [] : paths)
    }
}

extension FileCoordinator {
    /// Waits for a claim and runs an accessor in it.
    nonisolated(nonsending) func access<Value>(
        _ targets: () throws -> [AccessRun.Target], deadline: Deadline?, isPreparation: Bool = false,
        _ accessor: nonisolated(nonsending) ([URL]) async throws -> Value
    ) async throws -> Value {
        while true {
            try Task.checkCancellation()
            let run = try AccessRun(self, targets(), isPreparation: isPreparation)
            let grant: Grant
            if let immediate = run.immediate { grant = immediate } else { grant = try await client.wait(for: run.id, deadline: deadline) }
            guard let opened = try run.open(grant) else { continue }
            guard !isPreparation, run.targets.contains(where: \.isForUploading) else {
                defer { run.close(opened) }
                return try await CoordinationContext.$current.withValue(run.context) { try await accessor(opened.urls) }
            }
            return try await upload(run, opened, accessor)
        }
    }

    /// Runs an accessor on snapshots, made off the cooperative pool; the claim ends before the accessor where nothing else needs it.
    nonisolated(nonsending) private func upload<Value>(
        _ run: AccessRun, _ opened: AccessRun.Opened, _ accessor: nonisolated(nonsending) ([URL]) async throws -> Value
    ) async throws -> Value {
        var isOpen = true
        defer { if isOpen { run.close(opened) } }
        let snapshots = try await offPool { try run.snapshots(of: opened) }
        defer { for snapshot in snapshots { snapshot?.remove() } }
        if run.isForUploadingOnly {
            run.close(opened)
            isOpen = false
        }
        return try await CoordinationContext.$current.withValue(run.context) { try await accessor(run.urls(opened, snapshots)) }
    }

    /// The same, blocking the calling thread.
    func accessBlocking<Value>(
        _ targets: () throws -> [AccessRun.Target], isPreparation: Bool = false, _ accessor: ([URL]) throws -> Value
    ) throws -> Value {
        warnOfBlocking()
        while true {
            let run = try AccessRun(self, targets(), isPreparation: isPreparation)
            let grant = try run.immediate ?? client.waitBlocking(for: run.id)
            guard let opened = try run.open(grant) else { continue }
            var isOpen = true
            defer { if isOpen { run.close(opened) } }
            let snapshots = try run.snapshots(of: opened)
            defer { for snapshot in snapshots { snapshot?.remove() } }
            if run.isForUploadingOnly {
                run.close(opened)
                isOpen = false
            }
            return try CoordinationContext.$current.withValue(run.context) { try accessor(run.urls(opened, snapshots)) }
        }
    }

    /// Warns, in debug builds, of blocking where that keeps a person or a presenter from going on.
    func warnOfBlocking() {
        #if DEBUG
            let place: String
            if CoordinationContext.current?.isHandlingMessage == true {
                place = "in a presenter's method, which delays its next messages"
            } else if Thread.isMainThread {
                place = "on the main thread"
            } else {
                return
            }
            client.logger.warning("A coordinated access for \(purpose) blocks \(place). Use the async form.")
        #endif
    }
}
