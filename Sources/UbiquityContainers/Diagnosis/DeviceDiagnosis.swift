package import FileCoordination
package import SystemPackage

/// An inspection of everything that this device stores about accounts and containers; it writes nothing and does not
/// wait.
package struct DeviceDiagnosis: Sendable {
    package var home: HomeFacts
    package var root: RootFacts?
    package var containers: [ContainerFacts] = []
    package var broker: BrokerCondition
    /// The findings in the containers' directories.
    package var items: [Finding] = []
    /// The reason why the containers cannot be listed.
    package var fault: ContainerError?

    /// Inspects the device.
    ///
    /// - Parameters:
    ///   - home: a device home, which need not exist.
    ///   - broker: returns the condition of this user's broker.
    ///   - progress: receives each directory before it is inspected.
    package init(
        of home: DeviceHome, broker: () -> BrokerCondition = { BrokerControl().condition() }, progress: (FilePath) -> Void = { _ in }
    ) {
        self.home = HomeFacts(of: home)
        self.broker = broker()
        guard let account = self.home.account else { return }
        root = RootFacts(of: account)
        do throws(ContainerError) {
            containers = try KnownContainer.list(in: home).map { ContainerFacts(of: $0, account: account) }
        } catch {
            // The home's own findings report problems with its files.
            if self.home.findings.isSound, root?.place.isSilent == false { fault = error }
        }
        for container in containers where container.place.kind == .directory {
            // Links are compared with the container's real path.
            DirectoryFacts.walk(PathFacts.real(container.place.path) ?? container.place.path) { directory, isLocal in
                progress(directory.path)
                root?.directories += 1
                if !isLocal { items += directory.findings }
                return []
            }
        }
    }

    /// All findings; a finding comes after those that may cause it.
    package var findings: [Finding] {
        var found = home.findings + (root?.findings ?? [])
        if let fault { found.append(Finding(.fault, .container, fault.path, message: fault.message, cause: fault.cause)) }
        return found + containers.flatMap(\.findings) + items + broker.findings
    }
}

extension BrokerCondition {
    /// The problems of the broker.
    package var findings: [Finding] {
        switch self {
        case .absent: []
        case .stale(let socket):
            [
                Finding(
                    .remark, .broker, socket, "the socket belongs to a broker that has ended",
                    "nothing: the next program that coordinates replaces it")
            ]
        case .running(let report):
            report.clients.filter(\.isStopped).map { client in
                Finding(
                    .warning, .broker, nil, "process \(client.process) (\(client.name)) is stopped, and others may wait for it",
                    "continue it with kill -CONT, or end it")
            }
        case .unusable(let error):
            [Finding(.fault, .broker, error.path, error.description, "see `ubcontrol broker status`; programs that coordinate fail until then")]
        }
    }
}
