import ObjectTransfer
import ServiceLifecycle
import ToolSupport
import UbiquityContainers

/// Tells the service manager what the agent does.
///
/// It learns it as any program does, through the agent's socket. So the manager hears that the agent is alive only if
/// the socket, its threads and the agent itself work.
struct NoticeService: Service {
    let manager: ServiceManager
    let agent: TransferAgent
    let client: TransferClient

    /// How long it waits before it asks an agent again that has not answered.
    private static let pause = Duration.seconds(1)

    func run() async throws {
        await withGracefulShutdownHandler {
            await cancelWhenGracefulShutdown {
                guard await agent.begun() else { return }
                await withTaskGroup { group in
                    group.addTask { await follow() }
                    group.addTask { await manager.tellLife { (try? await client.status()) != nil } }
                }
            }
        } onGracefulShutdown: {
            manager.tell(.stopping)
        }
    }

    private func follow() async {
        while !Task.isCancelled {
            // It throws when the agent does not answer, or ends.
            try? await tellStatuses()
            try? await Task.sleep(for: Self.pause)
        }
    }

    private func tellStatuses() async throws {
        // The agent that has answered is ready, which is told once.
        for try await status in client.statuses() { manager.tell(.ready, .status(status.sentence)) }
    }
}
