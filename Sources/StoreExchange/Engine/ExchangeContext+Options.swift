internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

extension ExchangeContext {
    /// Creates the context of an exchange from the context of a store.
    init(_ context: StoreContext, in container: UbiquityContainer?, file: StoreFile, sealer: Sealer, state: StoreState) {
        let options = context.options
        self.init(
            file: file, sealer: sealer, container: container, contentName: options.content,
            // Without a container, the layout is never used to look for files.
            layout: ContentLayout(container: container?.path ?? file.path.removingLastComponent(), content: options.content),
            files: context.files, scope: context.scope,
            // The file's directory says whether it is the account's own, or the one before its content is read.
            log: StoreLog(
                logger: context.logger, name: "\(state.peer.account): \(FilePath(root: nil, file.path.components.suffix(2)))",
                facts: [.account: state.peer.account, .content: options.content, .file: file.path.string]),
            metrics: ExchangeMetrics(context.metrics), notices: ExchangeNotices(context.notices),
            hint: container.map { TransportHint(options.transport?($0) ?? DirectoryTransport($0)) },
            progress: context.progress, conflictRetention: options.advanced.conflictRetention,
            coalescing: options.advanced.coalescing, baselines: context.scope == nil ? options.advanced.baselines : nil,
            silenceLimit: context.scope == nil ? options.advanced.silenceLimit : nil,
            wipePolicy: context.scope == nil ? options.wipePolicy : .wait,
            exchangesAutomatically: options.advanced.exchangesAutomatically, isReadOnly: context.isReadOnly, now: context.now)
    }
}
